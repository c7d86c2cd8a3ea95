package openai

// What the tests of discovery look at: where it would connect, and what it connects with.
var (
	Places         = Probe.places
	LoopbackClient = loopbackClient
)

// CallMarks lists the marks that open a call.
func CallMarks() (list []string) {
	for _, b := range dialects() {
		if b.kind == calling {
			list = append(list, b.open)
		}
	}
	return list
}
