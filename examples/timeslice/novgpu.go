//go:build !cgo

package main

import (
	"context"
	"errors"
)

const vgpuUsage = "timeslice vgpu needs cgo, and this program was built without.\n"

// vgpu stands in for the command that calls the driver.
func vgpu(_ context.Context, inv *invocation, args []string) error {
	return errors.Join(inv.parse(args, len(args)), errors.New("this program was built without cgo"))
}
