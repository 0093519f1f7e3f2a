package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/proxplane/proxplane/test/kit/controlplane"
)

// rightsAreUsed looks at what the operator has done with the rights that the chart
// gives it: nothing was refused, and there is no right that it had no use for.
func rightsAreUsed(t *testing.T, plane *controlplane.Plane) {
	t.Helper()
	used := map[string]bool{}
	for _, c := range nothingIsRefused(t, plane) {
		resource := strings.TrimSuffix(c.Resource+"/"+c.Subresource, "/")
		used[right(c.Verb, resource, c.Group, "")] = true
		used[right(c.Verb, resource, c.Group, c.Namespace)] = true
	}
	given := rights(t)
	for _, r := range given {
		if !used[r] && seldom[r] == "" {
			t.Errorf("the operator may %s, and never does", r)
		}
	}
	t.Logf("the operator has used %d rights: %s", len(given), strings.Join(given, ", "))
}

// nothingIsRefused looks that the operator has asked for nothing that the chart doesn't
// allow, and returns its calls.
func nothingIsRefused(t *testing.T, plane *controlplane.Plane) []controlplane.Call {
	t.Helper()
	calls, err := plane.Calls()
	if err != nil {
		t.Fatal(err)
	}
	calls = slices.DeleteFunc(calls, func(c controlplane.Call) bool {
		return c.User != "system:serviceaccount:proxplane:pp-proxplane" || c.Resource == "" // the list of what there is at all is everybody's
	})
	for _, c := range calls {
		if !c.Allowed {
			t.Errorf("the operator may not %s %s/%s.%s %s/%s", c.Verb, c.Resource, c.Subresource, c.Group, c.Namespace, c.Name)
		}
	}
	if len(calls) == 0 {
		t.Error("the operator has called nobody")
	}
	return calls
}

// seldom are rights that it depends on chance whether they are used in a minute.
var seldom = map[string]string{
	"patch events.events.k8s.io": "an event that comes again is counted, and the count is written once a minute at most",
}

// right is one right in words; of a namespace, if it is only for that.
func right(verb, resource, group, namespace string) string {
	text := strings.TrimSuffix(fmt.Sprintf("%s %s.%s", verb, resource, group), ".")
	if namespace != "" {
		text += " in " + namespace
	}
	return text
}

// rights are what the chart gives the operator.
func rights(t *testing.T) []string {
	t.Helper()
	all := rendered(t)
	var list []string
	for _, doc := range slices.Concat(all["Role"], all["ClusterRole"]) {
		var role rbacv1.ClusterRole
		if err := yaml.Unmarshal([]byte(doc), &role); err != nil {
			t.Fatalf("%v:\n%s", err, doc)
		}
		if forPeople(role) {
			continue
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if verb == "*" || resource == "*" || slices.Contains(rule.APIGroups, "*") {
						t.Errorf("%s allows anything", cmp.Or(role.Name, role.Kind))
					}
					list = append(list, right(verb, resource, rule.APIGroups[0], role.Namespace))
				}
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// forPeople reports whether a role is for those who write objects, not for the operator.
func forPeople(role rbacv1.ClusterRole) bool {
	return slices.ContainsFunc([]string{"view", "edit", "admin"}, func(name string) bool {
		return role.Labels["rbac.authorization.k8s.io/aggregate-to-"+name] == "true"
	})
}
