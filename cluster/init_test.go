package cluster

import "testing"

func TestWhatCannotChangeIsRefused(t *testing.T) {
	runs := Release{Version: "v1.30.14+rke2r1"}
	for _, c := range []struct {
		why    string
		change func(*File)
		want   string // empty: it may change
	}{
		{"nothing", func(*File) {}, ""},
		{"the version is written in full", func(f *File) { f.Kubernetes.Version = runs.Version }, ""},
		{"another CNI", func(f *File) { f.Kubernetes.CNI = "cilium" }, `kubernetes.cni: is "" and can't become "cilium"; make another cluster`},
		{"a larger disk", func(f *File) { f.Nodes.Workers.Disk = 120 }, ""},
		{"a smaller disk", func(f *File) { f.Nodes.Workers.Disk = 60 }, "nodes.workers.disk: is 100 and can't become 60: Proxmox shrinks no disk; have a further pool of machines with smaller ones"},
		{"a smaller disk of machines that there are none of", func(f *File) { f.Nodes.Pools[0].Disk = 60 }, ""},
		{"a further pool with smaller disks", func(f *File) { f.Nodes.Pools = append(f.Nodes.Pools, Pool{Name: "small", Disk: 20}) }, ""},
	} {
		was := &File{Name: "lab", Nodes: Nodes{Pools: []Pool{{Name: "gpu", Count: new(int)}}}}
		was.Fill()
		is, err := was.clone()
		if err != nil {
			t.Fatal(err)
		}
		c.change(is)
		have := ""
		if err := mayChange(was, is, runs); err != nil {
			have = err.Error()
		}
		if have != c.want {
			t.Errorf("%s: %q, want %q", c.why, have, c.want)
		}
	}
}
