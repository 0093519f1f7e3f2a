package site_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/proxplane/proxplane/model"
	"github.com/proxplane/proxplane/pve"
	"github.com/proxplane/proxplane/pvesim"
	"github.com/proxplane/proxplane/site"
	"github.com/proxplane/proxplane/spec"
)

// simulator is a Proxmox cluster in this process, in which everything takes no time.
func simulator() (*pvesim.Sim, pve.Config) {
	world := labWorld(2)
	world.Timing, world.Load = pvesim.Timing{}, pvesim.Load{AgentWait: pvesim.Duration(time.Millisecond)}
	sim, err := pvesim.New(world)
	if err != nil {
		log.Fatal(err)
	}
	transport, _ := sim.Transport()
	return sim, pve.Config{Endpoints: []string{"https://pve1:8006"}, Credentials: pve.Password("root@pam", "secret"), RoundTripper: transport}
}

// Make a machine, wait for it, change it, read it, see what somebody has changed by hand, and
// remove it.
func Example() {
	sim, proxmox := simulator()
	defer sim.Close()
	s, err := site.Open(site.Config{Proxmox: proxmox}, site.Options{Set: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	web := model.Owner{Door: "example", Set: "shop", Key: model.Key{Kind: "Machine", Name: "web"}}
	put := func(cpus int) error {
		vm, image, err := spec.VM(&spec.Cluster{}, spec.Machine{
			Owner: web, Class: &spec.Class{CPUs: cpus, Memory: resource.MustParse("2Gi")}, Source: spec.Source{Template: "debian"},
			Update: model.Allow{Restart: true},
		})
		if err != nil {
			return err
		}
		return errors.Join(s.PutImage(image.Owner, *image), s.Put(web, vm))
	}
	if err := put(2); err != nil {
		log.Fatal(err)
	}
	made, err := s.Await(ctx, web, site.Ready)
	fmt.Println("made:", made.Status, err)

	err = put(4)
	fmt.Println("changed:", err)
	_, err = s.Await(ctx, web, site.Ready)
	machine, _ := s.Read(ctx, web)
	fmt.Println("read:", machine.Guest.Name, machine.Guest.Config.Options["cores"], err)

	// Another process, or this one later, finds it by its owner. Meanwhile nobody changes back what
	// somebody changes by hand.
	want := s.Desired()
	s.Close()
	sim.Do(func(state *pvesim.State) { state.VMs[made.VMID].Conf["memory"] = "1024" })
	later, err := site.Open(site.Config{Proxmox: proxmox}, site.Options{Set: "shop"})
	if err != nil {
		log.Fatal(err)
	}
	defer later.Close()
	drift, err := later.Plan(ctx, want)
	fmt.Println("drift:", !drift.Ready(), err)

	err = later.Remove(ctx, web)
	fmt.Println("removed:", err)
	gone, err := later.Await(ctx, web, site.Gone)
	fmt.Println(gone.State, err)
	// Output:
	// made: running <nil>
	// changed: <nil>
	// read: web 4 <nil>
	// drift: true <nil>
	// removed: <nil>
	// Gone <nil>
}

// A machine that can't be made says why.
func ExampleSite_Await() {
	sim, proxmox := simulator()
	defer sim.Close()
	s, err := site.Open(site.Config{Proxmox: proxmox}, site.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	web := model.Owner{Door: "example", Set: "shop", Key: model.Key{Kind: "Machine", Name: "web"}}
	vm, image, err := spec.VM(&spec.Cluster{}, spec.Machine{Owner: web, Class: &spec.Class{CPUs: 2, Memory: resource.MustParse("2Gi")}, Source: spec.Source{Template: "windows"}})
	if err == nil {
		err = errors.Join(s.PutImage(image.Owner, *image), s.Put(web, vm))
	}
	if err != nil {
		log.Fatal(err)
	}
	_, err = s.Await(context.Background(), web, site.Ready)
	fmt.Println(err)
	// Output:
	// machine/web: no declared machine or image and no template is named "windows"; templates: debian
}
