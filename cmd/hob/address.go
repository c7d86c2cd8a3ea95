package main

import "strings"

// webAddress is an address as a browser takes it. The daemon's own form is host:port without a scheme.
func webAddress(addr string) string {
	if addr == "" || strings.Contains(addr, "://") {
		return addr
	}
	return "http://" + addr
}
