package fsguard_test

import (
	"strings"
	"testing"

	"hob/daemon/fsguard"
)

// T12: what may hold keys of the owner is guarded, in hidden folders of the home and by its name; other files are not.
func TestGuardedPlaces(t *testing.T) {
	top := t.TempDir()
	g, err := fsguard.New(fsguard.Config{
		Workspace: top + "/home/.hob/workspace", State: top + "/home/.hob/state", Home: top + "/home",
		Roots: []fsguard.Root{{Path: top + "/home/projects", Write: true}, {Path: top + "/home/.config/mine"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range strings.FieldsSeq(`.codex/auth.json .claude.json .gemini/oauth_creds.json .local/share/opencode/auth.json .config/github-copilot/apps.json
		.openclaw/openclaw.json .hermes/config.yaml .huggingface/token .config/stripe/config.toml .supabase/access-token .fly/config.yml .config/hcloud/cli.toml
		.s3cfg .boto .dockercfg .config/age/keys.txt .age/key.txt .config/Signal/config.json .local/share/TelegramDesktop/tdata .config/Slack/Cookies wg0.conf
		client.ovpn terraform.tfstate terraform.tfstate.backup .ansible/vault_pass .config/solana/id.json .ethereum/keystore/UTC .electrum/wallets/default
		.lnd/admin.macaroon passwords.txt Passwords.xlsx token recovery-codes.txt .bash_history .msmtprc .mbsyncrc .Xauthority .config/rclone.conf a/.hidden/x
		projects/x/token.txt projects/prod.tfstate projects/client.ovpn .zsh_history projects/.psql_history`) {
		if p, err := g.Resolve("", top+"/home/"+path); err != nil || !p.Guarded && p.Area != fsguard.Sensitive {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	for path := range strings.FieldsSeq(`notes.txt Documents/letter.pdf projects/.github/workflows/ci.yml projects/x/tokenizer.go projects/password_reset.py
		.hob/workspace/token.txt .hob/workspace/.scratch/s/passwords.txt .config/mine/x.toml`) {
		if p, err := g.Resolve("", top+"/home/"+path); err != nil || p.Guarded || p.Area == fsguard.Sensitive {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
	// T14: the environment of a thread is that of its process.
	for _, path := range []string{"/proc/1/environ", "/proc/1/task/1/environ", "/proc/1/task/1/mem"} {
		if p, err := g.Resolve("", path); err != nil || p.Area != fsguard.Sensitive {
			t.Errorf("%s: %+v, %v", path, p, err)
		}
	}
}
