package prop_test

import (
	"fmt"
	"testing"

	"github.com/proxplane/proxplane/pve/prop"
)

func ExampleParseNet() {
	n, err := prop.ParseNet("virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1")
	if err != nil {
		panic(err)
	}
	n.Tag = 20
	fmt.Println(n.Model, n.Bridge)
	fmt.Println(n)
	// Output:
	// virtio vmbr0
	// virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20
}

func ExampleDisk() {
	d := prop.Disk{File: prop.NewVolume("local-lvm", 32*prop.GiB), Discard: true, SSD: true}
	fmt.Println(d)
	// Output:
	// local-lvm:32,discard=on,ssd=1
}

func BenchmarkNet(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		n, err := prop.ParseNet("virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1,tag=20")
		if err != nil || n.String() == "" {
			b.Fatal(err)
		}
	}
}
