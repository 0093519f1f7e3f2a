package kubesim

import "strings"

// discover answers what kinds there are.
func (a *API) discover(path string) (any, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	versions := map[string]string{}
	for _, k := range a.kinds {
		versions[k.Group] = k.Version
	}
	switch {
	case path == "/api":
		return map[string]any{"kind": "APIVersions", "versions": []string{"v1"}}, true
	case path == "/apis":
		groups := []any{}
		for g, v := range versions {
			if g != "" {
				groups = append(groups, group(g, v))
			}
		}
		return map[string]any{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}, true
	case len(parts) == 2 && parts[0] == "apis":
		return group(parts[1], versions[parts[1]]), versions[parts[1]] != ""
	case len(parts) == 2 && parts[0] == "api":
		return a.resources("", parts[1]), true
	case len(parts) == 3 && parts[0] == "apis":
		return a.resources(parts[1], parts[2]), true
	}
	return nil, false
}

func group(name, version string) any {
	v := map[string]any{"groupVersion": name + "/" + version, "version": version}
	return map[string]any{"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": []any{v}, "preferredVersion": v}
}

func (a *API) resources(group, version string) any {
	list := []any{}
	for _, k := range a.kinds {
		if k.Group == group {
			list = append(list, map[string]any{"name": k.Resource, "singularName": strings.ToLower(k.Name), "namespaced": !k.Global, "kind": k.Name, "verbs": []string{"get", "list", "watch", "create", "update", "patch", "delete"}})
		}
	}
	return map[string]any{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": strings.TrimPrefix(group+"/"+version, "/"), "resources": list}
}
