package service_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hob/packaging/service"
)

var update = flag.Bool("update", false, "write the golden files anew; read the difference")

// TestGolden holds the files that systemd reads against what people have looked at. The package's are among them.
func TestGolden(t *testing.T) {
	for path, text := range map[string]string{
		"testdata/user.service":      service.UserUnit("/usr/local/bin/hob", "", "/home/sam/.local/bin:/usr/bin"),
		"testdata/user-home.service": service.UserUnit(`/opt/100% of $x/hob`, `/srv/my $hob "100%" \o`, `/opt/100% of $x:/usr/bin`),
		"testdata/system.service":    service.SystemUnit("/usr/local/bin/hob"),
		"../systemd/hob.service":     service.SystemUnit("/usr/bin/hob"),
		"../systemd/hob.sysusers":    service.SystemUsers(),
	} {
		if *update {
			if err := os.WriteFile(filepath.FromSlash(path), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.FromSlash(path))
		if err != nil {
			t.Fatal(err)
		}
		if string(want) != text {
			t.Errorf("%s is another one; now it is\n%s", path, text)
		}
	}
}

// TestUnits holds the promises of the units by name, whatever else changes in them.
func TestUnits(t *testing.T) {
	user, system := service.UserUnit("/bin/hob", "", ""), service.SystemUnit("/bin/hob")
	for _, line := range []string{"Type=notify", "Restart=always", "RestartSteps=8", "RestartMaxDelaySec=60", "WatchdogSec=180", "KillMode=mixed", "TimeoutStopSec=20", "StartLimitIntervalSec=0", "ExecStart=/bin/hob up --no-chat"} {
		if !strings.Contains(user, "\n"+line+"\n") || !strings.Contains(system, "\n"+line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	for unit, line := range map[string]string{user: "WantedBy=default.target", system: "WantedBy=multi-user.target"} {
		if !strings.HasSuffix(unit, "\n[Install]\n"+line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	for _, line := range []string{"User=hob", "Group=hob", "StateDirectory=hob", "RuntimeDirectory=hob", "ProtectSystem=strict", "NoNewPrivileges=yes", "Environment=HOB_HOME=/var/lib/hob HOB_SOCKET=/run/hob/hob.sock"} {
		if !strings.Contains(system, "\n"+line+"\n") {
			t.Errorf("%s is missing", line)
		}
	}
	for _, breaks := range []string{"ProtectKernelTunables", "ProtectKernelLogs", "ProtectHostname", "ProcSubset", "RestrictNamespaces"} {
		if strings.Contains(system, breaks) {
			t.Errorf("%s breaks the sandbox's /proc", breaks)
		}
	}
}

// A service keeps the folders of the shell's PATH that mean the same there.
func TestSearchPath(t *testing.T) {
	for path, want := range map[string]string{
		"": "", "/usr/bin:/bin": "/usr/bin:/bin", "/home/sam/.local/bin:.:bin::/usr/bin/:/usr/bin": "/home/sam/.local/bin:/usr/bin", "/a\nExecStart=/x:/b": "/b",
	} {
		if got := service.SearchPath(path); got != want {
			t.Errorf("%q: got %q, want %q", path, got, want)
		}
	}
}
