// Command terraform-provider-proxplane is the provider for Terraform and OpenTofu. They start it
// by themselves.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

	"github.com/proxplane/proxplane/terraform"
)

// version is stamped by release builds.
var version = "dev"

func main() {
	calm()
	endWithParent()
	err := providerserver.Serve(context.Background(), terraform.New(version), providerserver.ServeOpts{Address: terraform.Address})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terraform-provider-proxplane:", err)
		os.Exit(1)
	}
}

// calm has the plugin framework log nothing that nobody reads, unless people have asked for logs: it would trace each
// attribute of each resource, which takes more time than planning does. What is collected less often is
// some tens of MiB.
func calm() {
	debug.SetGCPercent(300)
	for _, name := range []string{"TF_LOG", "TF_LOG_PROVIDER", "TF_LOG_SDK"} {
		if os.Getenv(name) != "" {
			return
		}
	}
	for _, name := range []string{"TF_LOG_SDK", "TF_LOG_SDK_PROTO", "TF_LOG_SDK_FRAMEWORK"} {
		_ = os.Setenv(name, "OFF") // else there are logs
	}
}
