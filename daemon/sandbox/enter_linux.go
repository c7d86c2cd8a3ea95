package sandbox

// order is what the entry inside a box is asked to do before it becomes the command.
func (w bubblewrap) order(l layout, argv, env []string) []byte {
	order := order(argv, env)
	write := l.writable()
	if home := w.home(); home != "" {
		write = append(write, home)
	}
	return filter(landlock(order, write))
}

// helperLayers are the layers that the entry puts on here.
func helperLayers() []string {
	var list []string
	if landlockVersion() > 0 {
		list = append(list, "landlock")
	}
	if filters() {
		list = append(list, "seccomp")
	}
	return list
}

// helperGaps says what the entry cannot do here.
func helperGaps() []string {
	var list []string
	switch v := landlockVersion(); {
	case v == 0:
		list = append(list, "no Landlock: the kernel is older than 5.13, or it is switched off or forbidden here")
	case v < 6:
		list = append(list, "Landlock here does not keep abstract sockets and signals in (Linux 6.12 does)")
	}
	if !filters() {
		list = append(list, "no seccomp filter for this processor, so that a command can set setuid and setgid bits")
	}
	return list
}
