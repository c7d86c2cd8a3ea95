package sandbox

import "fmt"

// overMemory and overProcesses are the reasons that Bound gives for ending a sandbox. The caller shows them to the model.
func (b *Bound) overMemory() string {
	return fmt.Sprintf("it was ended because it used more than %s of memory, the limit of [tools.exec] memory", inMB(b.memory))
}

func overProcesses() string {
	return fmt.Sprintf("it tried to run more than %d processes and threads at once, the limit of the sandbox", maxProcesses)
}

// inMB formats a number of bytes for people, in MB or from 1 GB on in GB (powers of 1024).
func inMB(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%d MB", bytes>>20)
}
