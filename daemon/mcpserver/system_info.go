package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// System describes the machine. Numbers that the system does not tell are 0.
type System struct {
	Host    string  `json:"host"`
	OS      string  `json:"os"`
	Arch    string  `json:"arch"`
	Kernel  string  `json:"kernel,omitempty"`
	CPUs    int     `json:"cpus"`
	Load1   float64 `json:"load_1m,omitempty" jsonschema:"load average of one minute"`
	Uptime  int64   `json:"uptime_s,omitempty" jsonschema:"seconds since the start"`
	Memory  int64   `json:"memory_bytes,omitempty"`
	Free    int64   `json:"memory_available_bytes,omitempty"`
	Program string  `json:"go,omitempty" jsonschema:"Go version of hob"`
}

// Disks lists the file systems.
type Disks struct {
	Disks []Disk `json:"disks"`
}

// Disk is a mounted file system.
type Disk struct {
	Path  string `json:"path"`
	Type  string `json:"type"`
	Total int64  `json:"total_bytes"`
	Free  int64  `json:"free_bytes" jsonschema:"what a user who is not root may still write"`
}

// Networks lists the network interfaces.
type Networks struct {
	Interfaces []Interface `json:"interfaces"`
}

// Interface is a network interface.
type Interface struct {
	Name      string   `json:"name"`
	Up        bool     `json:"up"`
	Loopback  bool     `json:"loopback"`
	MTU       int      `json:"mtu"`
	Hardware  string   `json:"mac,omitempty"`
	Addresses []string `json:"addresses"`
}

// SystemInfo serves tools that describe this machine, until the client ends it.
func SystemInfo(ctx context.Context, version string, in io.ReadCloser, out io.WriteCloser) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "hob system-info", Version: version}, &mcp.ServerOptions{Logger: slog.New(slog.DiscardHandler)})
	add(s, "system_info", "Describe this machine: system, processors, load, memory, uptime.", systemInfo)
	add(s, "disk_info", "List the mounted disks with their sizes and free space.", diskInfo)
	add(s, "network_info", "List the network interfaces with their addresses.", networkInfo)
	err := s.Run(ctx, newLines(in, out))
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		return nil
	}
	return err
}

// add adds a tool without parameters that only reads.
func add[Out any](s *mcp.Server, name, description string, look func() (Out, error)) {
	t := &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}
	mcp.AddTool(s, t, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, Out, error) {
		found, err := look()
		return nil, found, err
	})
}

func systemInfo() (System, error) {
	host, err := os.Hostname()
	s := System{Host: host, OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), Program: strings.TrimPrefix(runtime.Version(), "go")}
	kernelInfo(&s)
	return s, err
}

// Memory is the memory of this machine in bytes, 0 where the system does not tell it.
func Memory() int64 {
	var s System
	kernelInfo(&s)
	return s.Memory
}

func networkInfo() (Networks, error) {
	list, err := net.Interfaces()
	found := Networks{Interfaces: []Interface{}}
	for _, i := range list {
		one := Interface{Name: i.Name, Up: i.Flags&net.FlagUp != 0, Loopback: i.Flags&net.FlagLoopback != 0, MTU: i.MTU, Hardware: i.HardwareAddr.String(), Addresses: []string{}}
		addresses, wrong := i.Addrs()
		err = errors.Join(err, wrong)
		for _, a := range addresses {
			one.Addresses = append(one.Addresses, a.String())
		}
		found.Interfaces = append(found.Interfaces, one)
	}
	return found, err
}
