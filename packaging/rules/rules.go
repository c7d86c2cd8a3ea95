// Package rules enforces the house style. Its tests parse every source file of the repository and report violations of CONTRIBUTING.md.
// They parse the files themselves, because a test that runs the go command can get stale results from the test cache. No code of this
// package ships.
package rules
