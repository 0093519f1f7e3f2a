// Command build builds the programs of folders that package tool knows, unless
// they are in the cache, and prints for each folder the version and where they are.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/proxplane/proxplane/test/tool"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, dir := range os.Args[1:] {
		set, err := tool.Open(ctx, dir)
		if err == nil {
			err = set.Build(ctx, os.Stderr)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Printf("%s %s\n", set.Version, set.Bin)
	}
}
