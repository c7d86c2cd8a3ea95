package daemon_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"hob/channels/channelstest"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/event"
	"hob/daemon/sys"
)

// saved writes a backup of everything while hob runs.
func (r *running) saved(o daemon.WholeOptions) daemon.WholeBackup {
	r.t.Helper()
	o.Path = filepath.Join(r.t.TempDir(), "backup")
	o.Database = func(ctx context.Context, path string) error {
		_, err := client.Do(ctx, r.client, api.CreateBackup, "", api.BackupPath{Path: path})
		return err
	}
	w, err := daemon.SaveWhole(r.t.Context(), r.home, o)
	if err != nil {
		r.t.Fatal(err)
	}
	return w
}

// A backup goes to a second home, and what the channel has kept from before is sent again there: nothing is answered before the owner says so.
func TestRestoreOnASecondHome(t *testing.T) {
	t.Parallel() // most of it is waiting
	tg, err := channelstest.NewTelegram("", "42:secret")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tg.Close)
	home := t.TempDir()
	put(t, "42:secret", home, "token")
	put(t, "a fact", home, "workspace", "memory", "facts.md")
	write(t, home, fmt.Sprintf("[owner]\naddresses = [\"telegram:7\"]\n[channels.telegram]\ntoken = \"file:token\"\napi_base = %q\n", tg.URL()))
	sent := func(text string) (n int) {
		for _, s := range tg.Sent() {
			if strings.Contains(s.Text, text) {
				n++
			}
		}
		return n
	}
	r := start(t, home)
	tg.Say(7, "say one")
	r.until("the first answer", func() bool { return sent("one") == 1 })
	key := daemon.BackupKey{Passphrase: "right"}
	w := r.saved(daemon.WholeOptions{Key: key, Secrets: true})
	bare := r.saved(daemon.WholeOptions{})
	if !w.Secrets || !w.Encrypted || bare.Secrets || bare.Encrypted || strings.Join(bare.LeftOut, " ") != "token" {
		t.Errorf("%+v\n%+v", w, bare)
	}
	yes := func(daemon.WholeRestore) error { return nil }
	if _, err := daemon.RestoreWhole(t.Context(), home, w.Path, key, yes); !errors.Is(err, daemon.ErrRunning) {
		t.Errorf("a running hob was replaced: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	tg.Say(7, "say two")
	tg.Say(7, "say three")
	second := t.TempDir()
	if done, err := daemon.RestoreWhole(t.Context(), second, bare.Path, daemon.BackupKey{}, yes); err != nil || len(done.Backup.MissingSecrets(second)) != 1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := os.Stat(filepath.Join(second, "token")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the secret was in the backup: %v", err)
	}
	if _, err := daemon.RestoreWhole(t.Context(), second, w.Path, key, yes); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(second, "workspace", "memory", "facts.md")); err != nil || string(text) != "a fact" {
		t.Errorf("the memory: %q, %v", text, err)
	}
	r = start(t, second)
	r.until("the question", func() bool { return sent("brought 2 messages") == 1 })
	if sent("two")+sent("three") != 2 { // in the question alone
		t.Errorf("answered unasked: %+v", tg.Sent())
	}
	rows, err := client.List(t.Context(), r.client, api.Inbox, event.Filter{State: "held"})
	if err != nil || len(rows) != 2 {
		t.Errorf("held: %+v, %v", rows, err)
	}
	for _, s := range tg.Sent() {
		if code := regexp.MustCompile(`/approve [A-Z0-9]+`).FindString(s.Text); code != "" {
			tg.Say(7, code)
		}
	}
	r.until("the answers", func() bool { return sent("three") == 2 })
}

// A no at the question, a damaged file and a wrong passphrase leave a home as it was.
func TestRestoreThatDoesNotHappen(t *testing.T) {
	home := t.TempDir()
	put(t, "old", home, "workspace", "a.md")
	r := start(t, home)
	w := r.saved(daemon.WholeOptions{Key: daemon.BackupKey{Passphrase: "right"}})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	put(t, "new", home, "workspace", "a.md")
	no := errors.New("no")
	for name, key := range map[string]string{"asked": "right", "passphrase": "wrong"} {
		_, err := daemon.RestoreWhole(t.Context(), home, w.Path, daemon.BackupKey{Passphrase: key}, func(daemon.WholeRestore) error { return no })
		if err == nil || name == "asked" && !errors.Is(err, no) {
			t.Errorf("%s: %v", name, err)
		}
		text, err := os.ReadFile(filepath.Join(home, "workspace", "a.md"))
		if err != nil || string(text) != "new" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
		if list, err := daemon.Leftovers(home); err != nil || len(list) > 0 {
			t.Errorf("%s left %v, %v", name, list, err)
		}
	}
	if _, err := daemon.VerifyWhole(t.Context(), w.Path, daemon.BackupKey{Passphrase: "right"}); err != nil {
		t.Error(err)
	}
}

// A home whose parts are on several disks is refused before anything is moved: a rename cannot move between disks.
func TestRestoreOverTwoDisks(t *testing.T) {
	other, err := os.MkdirTemp("/dev/shm", "hob-test-*")
	if err != nil {
		t.Skip("there is no second disk: ", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(other); err != nil {
			t.Error(err)
		}
	})
	for name, moved := range map[string]string{"what is kept": "state/before-restore", "the state": "state"} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			info, err := os.Stat(home)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := sys.SameDisk(other, info); err != nil || same {
				t.Skip("there is no second disk: ", err)
			}
			put(t, "old", home, "workspace", "a.md")
			at := filepath.Join(other, filepath.Base(moved))
			if err := errors.Join(os.MkdirAll(at, 0o700), os.MkdirAll(filepath.Dir(filepath.Join(home, moved)), 0o700), os.Symlink(at, filepath.Join(home, moved))); err != nil {
				t.Fatal(err)
			}
			r := start(t, home)
			w := r.saved(daemon.WholeOptions{})
			if err := r.stop(); err != nil {
				t.Fatal(err)
			}
			put(t, "new", home, "workspace", "a.md")
			_, err = daemon.RestoreWhole(t.Context(), home, w.Path, daemon.BackupKey{}, func(daemon.WholeRestore) error { return nil })
			if err == nil || !strings.Contains(err.Error(), "nothing was changed") {
				t.Errorf("restored: %v", err)
			}
			if text, err := os.ReadFile(filepath.Join(home, "workspace", "a.md")); err != nil || string(text) != "new" {
				t.Errorf("the workspace: %q, %v", text, err)
			}
			r = start(t, home)
			if err := r.stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A secret file of the home that the config names by its whole path is in a backup with secrets.
func TestSecretByItsWholePath(t *testing.T) {
	home := t.TempDir()
	put(t, "42:secret", home, "token")
	write(t, home, fmt.Sprintf("[models.spare]\nbackend = \"openai\"\nmodel = \"x\"\nbase_url = \"http://127.0.0.1:1/v1\"\napi_key = %q\n", "file:"+filepath.ToSlash(filepath.Join(home, "token"))))
	r := start(t, home)
	with, without := r.saved(daemon.WholeOptions{Secrets: true}), r.saved(daemon.WholeOptions{})
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	if !with.Secrets || len(with.LeftOut) > 0 || strings.Join(without.LeftOut, " ") != "token" {
		t.Errorf("%+v\n%+v", with, without)
	}
}

// A file that was restored is no newer than its backup, though the times in the backup are rounded to seconds.
func TestRestoredFilesAreNotNewer(t *testing.T) {
	home := t.TempDir()
	put(t, "a fact", home, "workspace", "a.md")
	r := start(t, home)
	r.say("say one")
	if err := r.stop(); err != nil {
		t.Fatal(err)
	}
	w, err := daemon.SaveWhole(t.Context(), home, daemon.WholeOptions{Path: filepath.Join(t.TempDir(), "backup")})
	if err != nil {
		t.Fatal(err)
	}
	for changed, want := range map[time.Duration]int64{500 * time.Millisecond: 0, time.Hour: 1} {
		at := w.Made.Add(changed)
		if err := os.Chtimes(filepath.Join(home, "workspace", "a.md"), at, at); err != nil {
			t.Fatal(err)
		}
		refused := errors.New("no")
		if _, err := daemon.RestoreWhole(t.Context(), home, w.Path, daemon.BackupKey{}, func(done daemon.WholeRestore) error {
			if done.Newer != want {
				t.Errorf("changed %v after the backup: %d newer files", changed, done.Newer)
			}
			return refused
		}); !errors.Is(err, refused) {
			t.Error(err)
		}
	}
}
