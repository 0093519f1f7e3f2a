package migrate

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// beside is what the configuration beside a state has already: a configuration may have it only once.
type beside struct {
	requires string // the file with required_providers; empty: there is none
	known    bool   // ours is among them
	provider bool   // there is a block of our provider
}

// lookBeside reads the configuration in the folder of a state. Files that can't be read are Terraform's to complain about.
func lookBeside(source string) (b beside) {
	folder := source
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		folder = filepath.Dir(source) // of -, this one
	}
	files, _ := filepath.Glob(filepath.Join(folder, "*.tf")) // a folder is no pattern that can be wrong, or has none
	for _, name := range files {
		c, err := parse([]string{name})
		if err != nil {
			continue
		}
		for _, block := range c.blocks {
			b.add(filepath.Base(name), block)
		}
	}
	return b
}

func (b *beside) add(file string, block *hclsyntax.Block) {
	switch {
	case block.Type == "provider" && len(block.Labels) == 1 && block.Labels[0] == ours:
		b.provider = true
	case block.Type == "terraform":
		for _, inner := range block.Body.Blocks {
			if inner.Type == "required_providers" {
				b.requires, b.known = file, b.known || inner.Body.Attributes[ours] != nil
			}
		}
	}
}

// ours is what our provider is called.
var ours = address[strings.LastIndexByte(address, '/')+1:]
