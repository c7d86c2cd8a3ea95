package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"filippo.io/age"

	"hob/daemon/archive"
	"hob/daemon/event"
)

// made writes a backup of a small tree.
func made(t *testing.T, k archive.Key) string {
	t.Helper()
	dir := t.TempDir()
	noise := make([]byte, 300_000) // several chunks of age
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"a.md": "one", "deep/er/b.md": "two", "empty": "", "noise": string(noise)} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "backup")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := archive.NewWriter(f, archive.Head{Version: "v1", Made: time.Now()}, k)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Tree(t.Context(), "workspace", dir); err != nil {
		t.Fatal(err)
	}
	m, err := w.Close()
	if err := errors.Join(err, f.Close()); err != nil || len(m.Files) != 4 || strings.Join(m.Skipped, " ") != "workspace/link" {
		t.Fatalf("%+v, %v", m, err)
	}
	return path
}

// extracted extracts everything into a new folder.
func extracted(t *testing.T, path string, k archive.Key, room int64) (dir string, err error) {
	t.Helper()
	dir = t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := root.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = archive.Extract(t.Context(), path, k, root, room, func(string) bool { return true })
	return dir, err
}

func says(t *testing.T, err error, kind error, part string) {
	t.Helper()
	f, ok := event.AsFault(err)
	if !ok || !strings.Contains(f.Text, part) || f.Hint == "" || kind != nil && !errors.Is(err, kind) {
		t.Errorf("%v, want a fault with a hint that says %q", err, part)
	}
}

func TestThereAndBack(t *testing.T) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string][2]archive.Key{
		"plain": {}, "passphrase": {{Passphrase: "right"}, {Passphrase: "right"}},
		"recipient": {{Recipient: id.Recipient().String()}, {Identity: "# mine\n" + id.String() + "\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			path := made(t, k[0])
			dir, err := extracted(t, path, k[1], 1<<30)
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(dir, "workspace", "deep", "er", "b.md"))
			if err != nil || string(text) != "two" {
				t.Errorf("%q, %v", text, err)
			}
			if _, err := os.Lstat(filepath.Join(dir, "workspace", "link")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the link was copied: %v", err)
			}
			_, err = extracted(t, path, k[1], 100)
			says(t, err, nil, "no room")
			whole, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int{len(whole) - 1, len(whole) - 20, len(whole) / 2} {
				if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
					t.Fatal(err)
				}
				_, err = extracted(t, path, k[1], 1<<30)
				says(t, err, archive.ErrDamaged, "the backup is")
			}
			for _, at := range []int{len(whole) / 2, len(whole) - 3} {
				bad := bytes.Clone(whole)
				bad[at] ^= 0x40
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				_, err = extracted(t, path, k[1], 1<<30)
				says(t, err, archive.ErrDamaged, "the backup is")
			}
		})
	}
	path := made(t, archive.Key{Passphrase: "right"})
	_, err = extracted(t, path, archive.Key{Passphrase: "wrong"}, 1<<30)
	says(t, err, nil, "the passphrase is wrong")
	_, err = extracted(t, path, archive.Key{}, 1<<30)
	says(t, err, nil, "encrypted with a passphrase")
	path = made(t, archive.Key{Recipient: id.Recipient().String()})
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	_, err = extracted(t, path, archive.Key{Identity: other.String()}, 1<<30)
	says(t, err, nil, "for another key")
	_, err = extracted(t, path, archive.Key{Identity: "nothing"}, 1<<30)
	says(t, err, nil, "no key of age")
	_, err = archive.NewWriter(&bytes.Buffer{}, archive.Head{}, archive.Key{Recipient: "age1nobody"})
	says(t, err, nil, "not one of age")
}

// TestAnyName wants files back whose names are unusual: a system without rules for names allows all bytes but the slash and NUL.
func TestAnyName(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the system has rules for names")
	}
	names := map[string]string{"caf\xe9.md": "one", "caf\xe8.md": "two", "caf\uFFFD.md": "three", `a\b.md`: "four", "two\nlines": "five", "-x": "six", "folder \xff/y": "seven"}
	from := t.TempDir()
	for name, text := range names {
		file := filepath.Join(from, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(t.TempDir(), "backup")
	f, err := os.Create(packed)
	if err != nil {
		t.Fatal(err)
	}
	w, err := archive.NewWriter(f, archive.Head{Version: "v1", Made: time.Now()}, archive.Key{})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Tree(t.Context(), "workspace", from)
	_, ended := w.Close()
	if err := errors.Join(err, ended, f.Close()); err != nil {
		t.Fatal(err)
	}
	dir, err := extracted(t, packed, archive.Key{}, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range names {
		if text, err := os.ReadFile(filepath.Join(dir, "workspace", name)); err != nil || string(text) != want {
			t.Errorf("%q: %q, %v", name, text, err)
		}
	}
}

// What no hob writes is refused, and nothing of it leaves the folder.
func TestHostileBackups(t *testing.T) {
	const head = `{"format":1}`
	entry := func(name string, kind byte, text string) tar.Header {
		return tar.Header{Name: name, Typeflag: kind, Size: int64(len(text)), Mode: 0o777, Linkname: "/etc/passwd", PAXRecords: map[string]string{"HOB.text": text}}
	}
	first := entry("hob-backup.json", tar.TypeReg, head)
	for name, c := range map[string]struct {
		entries []tar.Header
		kind    error
		says    string
	}{
		"absolute":       {[]tar.Header{first, entry("/tmp/x", tar.TypeReg, "x")}, archive.ErrHostile, "the path"},
		"above":          {[]tar.Header{first, entry("workspace/../../x", tar.TypeReg, "x")}, archive.ErrHostile, "the path"},
		"above at once":  {[]tar.Header{first, entry("../x", tar.TypeReg, "x")}, archive.ErrHostile, "the path"},
		"backslash":      {[]tar.Header{first, entry(`workspace\..\x`, tar.TypeReg, "x")}, archive.ErrHostile, "the path"},
		"link":           {[]tar.Header{first, entry("workspace", tar.TypeSymlink, "")}, archive.ErrHostile, "neither a file nor a folder"},
		"hard link":      {[]tar.Header{first, entry("x", tar.TypeLink, "")}, archive.ErrHostile, "neither a file nor a folder"},
		"device":         {[]tar.Header{first, entry("x", tar.TypeFifo, "")}, archive.ErrHostile, "neither a file nor a folder"},
		"twice":          {[]tar.Header{first, entry("x", tar.TypeReg, "1"), entry("x", tar.TypeReg, "2")}, archive.ErrHostile, "two entries"},
		"newer":          {[]tar.Header{entry("hob-backup.json", tar.TypeReg, `{"format":2,"version":"v9"}`)}, nil, "newer hob (v9)"},
		"no head":        {[]tar.Header{entry("x", tar.TypeReg, "x")}, nil, "no whole backup"},
		"no list":        {[]tar.Header{first, entry("x", tar.TypeReg, "x")}, archive.ErrDamaged, "not whole"},
		"unlisted":       {[]tar.Header{first, entry("x", tar.TypeReg, "x"), entry("manifest.json", tar.TypeReg, `{"files":[]}`)}, archive.ErrDamaged, "its list has 0"},
		"another":        {[]tar.Header{first, entry("x", tar.TypeReg, "x"), entry("manifest.json", tar.TypeReg, `{"files":[{"path":"x","sha256":"00"}]}`)}, archive.ErrDamaged, "x is not what was written"},
		"list is no one": {[]tar.Header{first, entry("manifest.json", tar.TypeReg, `[`)}, archive.ErrDamaged, "manifest.json cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "backslash" && runtime.GOOS != "windows" {
				t.Skip("it is a letter like any other here")
			}
			var packed bytes.Buffer
			gz := gzip.NewWriter(&packed)
			out := tar.NewWriter(gz)
			for _, h := range c.entries {
				text := h.PAXRecords["HOB.text"]
				h.PAXRecords = nil
				if err := out.WriteHeader(&h); err != nil {
					t.Fatal(err)
				}
				if _, err := out.Write([]byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			if err := errors.Join(out.Close(), gz.Close()); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "bad")
			if err := os.WriteFile(path, packed.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := extracted(t, path, archive.Key{}, 1<<30)
			says(t, err, c.kind, c.says)
		})
	}
}

// A file that unpacks to far more than a backup of its size can be is refused before it fills the disk.
func TestBomb(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bomb")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	gz := gzip.NewWriter(f)
	out := tar.NewWriter(gz)
	head := `{"format":1}`
	if err := out.WriteHeader(&tar.Header{Name: "hob-backup.json", Typeflag: tar.TypeReg, Size: int64(len(head)), Mode: 0o600}); err != nil {
		t.Fatal(err)
	}
	_, err = out.Write([]byte(head))
	if err := errors.Join(err, out.WriteHeader(&tar.Header{Name: "x", Typeflag: tar.TypeReg, Size: 2 << 30, Mode: 0o600}), gz.Close(), f.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = extracted(t, path, archive.Key{}, 1<<50)
	says(t, err, archive.ErrHostile, "far more bytes")
}

// FuzzExtract: nothing that is read may panic, or write outside the folder.
func FuzzExtract(f *testing.F) {
	f.Add([]byte("age-encryption.org/v1\n-> scrypt x"))
	f.Add([]byte{0x1f, 0x8b, 8})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "any")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := extracted(t, path, archive.Key{}, 1<<20); err == nil {
			t.Error("it was taken for a backup")
		}
	})
}
