//go:build !linux

package mcpserver

import (
	"errors"
	"runtime"
)

// kernelInfo adds nothing: only Linux tells it in files.
func kernelInfo(*System) {}

// diskInfo is for Linux.
func diskInfo() (Disks, error) {
	return Disks{Disks: []Disk{}}, errors.New("disk_info does not work on " + runtime.GOOS)
}
