// Package rules keeps the house style: its tests parse every source file of the repository and report what breaks a
// rule of CONTRIBUTING.md. It parses by itself, because a test that asks the go command is served
// stale answers from the test cache. It holds no code that ships.
package rules
