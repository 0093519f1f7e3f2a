// Command terraform-provider-proxplane is the provider for Terraform and OpenTofu. They start it
// by themselves.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/proxplane/proxplane/terraform"
)

// version is stamped by release builds.
var version = "dev"

func main() {
	err := providerserver.Serve(context.Background(), terraform.New(version), providerserver.ServeOpts{Address: terraform.Address})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-proxplane:", err)
		os.Exit(1)
	}
}
