package main

// Main is main, for the scripts that run it.
func Main() { main() }

// NewRoot makes all commands.
var NewRoot = newRoot
