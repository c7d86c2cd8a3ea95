package mcpserver

import (
	"bufio"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// kernelInfo adds what the kernel tells (proc(5)). What cannot be read stays empty.
func kernelInfo(s *System) {
	s.Kernel = firstWord("/proc/sys/kernel/osrelease")
	s.Load1 = number(firstWord("/proc/loadavg"))
	s.Uptime = int64(number(firstWord("/proc/uptime")))
	eachLine("/proc/meminfo", func(words []string) {
		if len(words) < 2 {
			return
		}
		switch kb := int64(number(words[1])); words[0] {
		case "MemTotal:":
			s.Memory = kb << 10
		case "MemAvailable:":
			s.Free = kb << 10
		}
	})
}

// diskInfo lists the mounts that have blocks, each device once.
func diskInfo() (Disks, error) {
	found, seen := Disks{Disks: []Disk{}}, map[string]bool{}
	eachLine("/proc/self/mounts", func(words []string) {
		if len(words) < 3 || seen[words[0]] && strings.HasPrefix(words[0], "/") || seen[words[1]] {
			return
		}
		path := unescaped(words[1])
		var st syscall.Statfs_t
		if err := syscall.Statfs(path, &st); err != nil || st.Blocks == 0 || slices.Contains([]string{"overlay", "squashfs"}, words[2]) && path != "/" {
			return
		}
		seen[words[0]], seen[words[1]] = true, true
		size := int64(st.Bsize)                                                                                                            //nolint:unconvert // its type differs between architectures
		found.Disks = append(found.Disks, Disk{Path: path, Type: words[2], Total: int64(st.Blocks) * size, Free: int64(st.Bavail) * size}) // #nosec G115 -- sizes of disks
	})
	return found, nil
}

// unescaped decodes the four characters that are escaped in mounts (fstab(5)).
func unescaped(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

func firstWord(file string) string {
	word := ""
	eachLine(file, func(words []string) {
		if word == "" && len(words) > 0 {
			word = words[0]
		}
	})
	return word
}

func number(text string) float64 {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return n
}

// eachLine calls f with the words of each line; not at all for a file that cannot be read.
func eachLine(file string, f func(words []string)) {
	raw, err := os.ReadFile(file) // #nosec G304 -- constants
	if err != nil {
		return
	}
	lines := bufio.NewScanner(strings.NewReader(string(raw)))
	for lines.Scan() {
		f(strings.Fields(lines.Text()))
	}
}
