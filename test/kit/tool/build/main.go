// Command build builds the programs of folders that package tool knows, unless
// they are in the cache, and prints for each folder the version and where they are.
// With -missing it builds nothing, and prints the folders whose programs aren't there.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/proxplane/proxplane/test/kit/tool"
)

func main() {
	missing := flag.Bool("missing", false, "build nothing; print the folders whose programs aren't built")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, dir := range flag.Args() {
		if err := each(ctx, dir, *missing); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func each(ctx context.Context, dir string, missing bool) error {
	set, err := tool.Open(ctx, dir)
	if err != nil {
		return err
	}
	if missing {
		if !set.Built() {
			fmt.Println(dir)
		}
		return nil
	}
	if err := set.Build(ctx, os.Stderr); err != nil {
		return err
	}
	fmt.Printf("%s %s\n", set.Version, set.Bin)
	return nil
}
