package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/plan"
	"github.com/proxplane/proxplane/spec/export"
	"github.com/proxplane/proxplane/status"
)

// drift compares the file that was applied last with the machines, in Proxmox and inside of them, and
// with the file that is given.
func (s *verifying) drift(ctx context.Context) Finding {
	problems, err := s.unapplied(ctx)
	if err == nil {
		var more []string
		more, err = s.machineDrift(ctx)
		problems = append(problems, more...)
	}
	if err != nil {
		return Finding{Check: "drift", Text: err.Error()}
	}
	problems = append(problems, s.nodeDrift(ctx)...)
	return wrong("drift", "the machines are as the file says", problems,
		"Bring machines in line with: proxplane cluster init --config FILE; what a machine got at its first boot changes with: proxplane cluster replace NAME --cluster "+s.Name)
}

// unapplied are the fields of the file that is given which differ from the one that was applied last.
func (s *verifying) unapplied(ctx context.Context) (list []string, err error) {
	if s.File == nil {
		return nil, nil
	}
	applied, given := s.Record.File, s.File
	if full, err := s.secretsOf(ctx, applied); err == nil {
		applied = full
	} else {
		list = append(list, fmt.Sprintf("whether values that only control planes have are applied isn't known: %v", err))
		if given, err = given.withoutSecrets(); err != nil {
			return nil, err
		}
	}
	was, err := fieldsIn(applied)
	if err != nil {
		return nil, err
	}
	is, err := fieldsIn(given)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(was)
	maps.Copy(all, is)
	for _, field := range slices.Sorted(maps.Keys(all)) {
		if was[field] != is[field] {
			list = append(list, fmt.Sprintf("%s of the file isn't applied", field))
		}
	}
	return list, nil
}

// fieldsIn are the fields of a file with their values; lists are one value.
func fieldsIn(f *File) (map[string]string, error) {
	text, err := yaml.Marshal(f)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := yaml.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	out := map[string]string{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		if fields, ok := value.(map[string]any); ok {
			for key, item := range fields {
				walk(strings.TrimPrefix(path+"."+key, "."), item)
			}
			return
		}
		out[path] = fmt.Sprint(value)
	}
	walk("", all)
	return out, nil
}

// machineDrift is what Proxmox has otherwise than the file says.
func (s *verifying) machineDrift(ctx context.Context) (list []string, err error) {
	wants := s.wanted(s.Record, "")
	var nodes []Node
	for _, m := range s.Members {
		if s.Record.File.Pool(m.Pool) != nil && m.Seeded && !m.Away { // of those nothing is known, which is told below
			nodes = append(nodes, m.Node)
		}
	}
	want, err := wants.desired(nodes)
	if err != nil {
		return nil, err
	}
	for i := range want.VMs { // whether they run is another check
		want.VMs[i].Power, want.VMs[i].WaitAddress = "", false
	}
	p, err := s.site.Plan(ctx, want)
	if err != nil {
		return nil, err
	}
	for _, o := range p.Objects {
		if o.Owner.Kind == KindMachine {
			list = append(list, differences(o)...)
		}
	}
	return list, nil
}

// differences are what a plan would change beside our marks.
func differences(o plan.Object) (list []string) {
	for _, step := range o.Steps {
		if !export.OnlyMarks(step.Action) {
			list = append(list, fmt.Sprintf("%s: %s", o.Owner.Name, status.Reason(step.Why, step.Diff)))
		}
	}
	for _, r := range o.Refused {
		list = append(list, fmt.Sprintf("%s: %s", o.Owner.Name, status.Reason(r.Why, r.Diff)))
	}
	return list
}

// nodeDrift is what machines have inside otherwise than the file says.
func (s *verifying) nodeDrift(ctx context.Context) []string {
	file, err := s.secretsOf(ctx, s.Record.File)
	if err != nil {
		return []string{err.Error()}
	}
	found := make([][]string, len(s.Members))
	var all sync.WaitGroup
	for i, m := range s.Members {
		if !m.Seeded || s.Record.File.Pool(m.Pool) == nil {
			continue // it is made later, or is to go
		}
		if m.Guest.Status != model.StatusRunning {
			found[i] = []string{fmt.Sprintf("what %s has inside isn't known: it is %s", m.Name, m.Guest.Status)}
			continue
		}
		all.Go(func() {
			list, err := s.driftIn(ctx, m, file)
			if err != nil {
				list = []string{err.Error()}
			}
			found[i] = list
		})
	}
	all.Wait()
	return slices.Concat(found...)
}

// driftIn compares the files of a machine with those that it would get now.
func (s *verifying) driftIn(ctx context.Context, m Member, file *File) (list []string, err error) {
	config := s.distribution().config("config.yaml")
	text, err := s.in.ReadFile(ctx, m.Guest, config)
	if err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", m.Name, config, err)
	}
	var have map[string]any
	if err := yaml.Unmarshal([]byte(text), &have); err != nil {
		return nil, fmt.Errorf("%s: read %s: %w", m.Name, config, err)
	}
	token, _ := have["token"].(string)
	files, err := nodeFiles(file, m.Release, m.Node, token)
	if err != nil {
		return nil, err
	}
	command := []string{"sha256sum"}
	for _, f := range files {
		command = append(command, f.Path)
	}
	left, err := s.leftIn(ctx, m, files)
	if err != nil {
		return nil, err
	}
	command = append(command, left...)
	ran, err := s.in.Run(ctx, m.Guest, command, "") // it fails for those that aren't there
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(ran.Out) {
		if sum, at, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			sums[at] = sum
		}
	}
	for _, f := range files {
		sum := sha256.Sum256([]byte(f.Content))
		switch {
		case f.Path == nodeProgram, sums[f.Path] == hex.EncodeToString(sum[:]): // the program is proxplane's own
		case f.Path == config:
			list = append(list, fmt.Sprintf("%s: %s of %s", m.Name, strings.Join(keysApart(have, f.Content), ", "), config))
		case sums[f.Path] == "":
			list = append(list, fmt.Sprintf("%s: %s isn't there", m.Name, f.Path))
		default:
			list = append(list, fmt.Sprintf("%s: %s isn't as the file says", m.Name, f.Path))
		}
	}
	for _, at := range left {
		if sums[at] != "" {
			list = append(list, fmt.Sprintf("%s: %s is left from an earlier file", m.Name, at))
		}
	}
	return list, nil
}

// leftIn are files that a machine may have from an earlier file and wouldn't get now.
func (s *verifying) leftIn(ctx context.Context, m Member, files []writeFile) (list []string, err error) {
	d := s.distribution()
	may := []string{imagesFile, envFile, d.config("registries.yaml")}
	if m.Server() {
		folder := d.data("server/manifests")
		ran, err := s.in.Run(ctx, m.Guest, []string{"ls", folder}, "") // it fails where there is no such folder
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
		for name := range strings.FieldsSeq(ran.Out) {
			if strings.HasPrefix(name, ownManifest) {
				may = append(may, path.Join(folder, name))
			}
		}
	}
	for _, at := range may {
		if !slices.ContainsFunc(files, func(f writeFile) bool { return f.Path == at }) {
			list = append(list, at)
		}
	}
	return list, nil
}

// keysApart are the keys of a config in which a machine differs from what it would get now.
func keysApart(have map[string]any, want string) (list []string) {
	var is map[string]any
	if yaml.Unmarshal([]byte(want), &is) != nil {
		return nil
	}
	all := maps.Clone(have)
	maps.Copy(all, is)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		a, errA := yaml.Marshal(have[key])
		b, errB := yaml.Marshal(is[key])
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			list = append(list, key)
		}
	}
	return list
}
