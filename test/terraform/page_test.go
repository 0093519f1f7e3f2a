package terraform_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/proxplane/proxplane/test/kit/sim"
)

// The examples of the registry's pages are applied as they are; a second plan is empty, and nothing stays when they are destroyed.
func TestTheExamplesOfTheRegistrysPages(t *testing.T) {
	const folder = "../../terraform/examples"
	head, err := os.ReadFile(filepath.Join(folder, "provider", "example.tf"))
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Glob(filepath.Join(folder, "*", "*", "example.tf"))
	if err != nil || len(examples) < 15 {
		t.Fatal(examples, err)
	}
	for _, file := range examples {
		of, _ := filepath.Rel(folder, filepath.Dir(file))
		t.Run(of, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			b := begin(t)
			before := b.census()
			b.env = append(b.env, "DB_PASSWORD=k2Vt-0pen-sesame")
			b.write("main.tf", string(head)+strings.Replace(string(text), "…", sim.ImageSum(), 1))
			b.apply()
			b.settled()
			b.destroy()
			b.nothingLeft(before)
		})
	}
}
