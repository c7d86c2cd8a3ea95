package sandbox

import "fmt"

func (b *Bound) tooMuch() string {
	return fmt.Sprintf("it was ended, since it took more than %s of memory, the limit of [tools.exec] memory", inMB(b.memory))
}

func tooMany() string {
	return fmt.Sprintf("it tried to have more than %d processes at once, the limit of the sandbox", maxProcesses)
}

func inMB(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}
