// Package triggers manages the triggers that make hob act by itself: jobs, file watches and webhooks, with one service for each. Requests come from
// the tools, the API and the config, and become rows in the store. The package never runs a prompt: the scheduler fires a trigger, and the agent
// does the rest.
package triggers

// OriginConfig is the origin of a trigger that the config defines: only the config file changes it.
const OriginConfig = "config"

// Wanted is a trigger that the config asks for.
// daemon/reload.go makes it from a section, because this package does not read the config.
type Wanted struct {
	Name   string
	Decode func(any) error // reads its section
}
