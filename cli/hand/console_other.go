//go:build !unix

package hand

import "context"

// onResize does nothing where terminals don't tell.
func onResize(context.Context, func()) {}
