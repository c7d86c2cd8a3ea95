package openai

// What the tests of discovery look at: where it would connect, and what it connects with.
var (
	Places         = Probe.places
	LoopbackClient = loopbackClient
)
