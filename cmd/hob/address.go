package main

import "strings"

// webAddress is an address as a browser takes it.
func webAddress(addr string) string {
	if addr == "" || strings.Contains(addr, "://") {
		return addr
	}
	return "http://" + addr
}
