// Package triggers makes and looks after what makes hob act by itself: jobs, file watches and webhooks, one service for each. It turns what the
// tools, the API and the config ask for into rows for the store. It never runs a prompt: the scheduler fires a trigger, and the agent does the rest.
package triggers

// OriginConfig is the origin of a trigger that the config defines: only the config file changes it.
const OriginConfig = "config"

// Wanted is a trigger that the config asks for.
type Wanted struct {
	Name   string
	Decode func(any) error // reads its section
}
