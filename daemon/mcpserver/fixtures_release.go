//go:build !mcpfixtures

package mcpserver

import (
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// options are those of a server. Tests of the protocol add more.
func options(log *slog.Logger) mcp.ServerOptions { return mcp.ServerOptions{Logger: log} }

// fixtures adds what tests of the protocol need: nothing here.
func fixtures(*mcp.Server) {}
