package main

// Main is main, for the scripts that run it.
func Main() { main() }
