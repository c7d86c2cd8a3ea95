package config_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"hob/config"
)

func TestNamesOfTools(t *testing.T) {
	for _, key := range []string{"allow", "deny", "core"} {
		for name, hint := range map[string]string{
			"web_fetc": `did you mean "web_fetch"?`, "web__fetch": `did you mean "web_fetch"?`, "Exec": `did you mean "exec"?`, "nonesuch": "hob tool list --all",
			"": "hob tool list --all", "web_*": "hob tool list --all", "__x": "hob tool list --all", "git__": "hob tool list --all", "git__[": "hob tool list --all",
		} {
			s, got := parsed(t, fmt.Sprintf("[tools]\n%s = [\"read\", %q]\n", key, name))
			want := fmt.Sprintf("%s: there is no tool %q, so [tools] is off, and with it every tool: ", key, name)
			if len(got) != 1 || !strings.HasPrefix(got[0], "config.toml:2:") || !strings.Contains(got[0], want) || !strings.Contains(got[0], hint) || !slices.Equal(s.Tools.Deny, []string{config.DenyAll}) {
				t.Errorf("%s = %q: %q, deny %q", key, name, got, s.Tools.Deny)
			}
		}
		for _, name := range append(config.ToolNames(), "*", "git__*", "my-server__list_issues", "git__list_*") {
			if _, got := parsed(t, fmt.Sprintf("[tools]\n%s = [%q]\n", key, name)); len(got) > 0 {
				t.Errorf("%s = %q: %q", key, name, got)
			}
		}
	}
}
