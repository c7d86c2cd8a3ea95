package main_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	main "hob/packaging/release"
)

// TestArchivesRepeat packs the same files twice, from folders of different names, owners' rights and times.
func TestArchivesRepeat(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, write := range map[string]func(*bytes.Buffer, []main.Entry, time.Time) error{"tar": main.WriteTar, "zip": main.WriteZip} {
		var first, second bytes.Buffer
		for i, b := range []*bytes.Buffer{&first, &second} {
			dir := t.TempDir()
			for j := range 20 {
				file := filepath.Join(dir, string(rune('a'+(j*7)%20)))
				if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(file, at, at.Add(time.Duration(i+j)*time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			all, err := main.Folder(dir, "top")
			if err != nil {
				t.Fatal(err)
			}
			if err := write(b, all, at.In(time.FixedZone("", i*3600))); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(first.Bytes(), second.Bytes()) {
			t.Errorf("%s: the same files gave other bytes", name)
		}
	}
}

// TestArchiveNamesNobody looks into a tar archive: the time is the one that was given, and the owner is nobody in particular.
func TestArchiveNamesNobody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(file, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	all, err := main.Folder(filepath.Dir(file), "top")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := main.WriteTar(&b, all, at); err != nil {
		t.Fatal(err)
	}
	plain, err := gzip.NewReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	h, err := tar.NewReader(plain).Next()
	if err != nil || h.Name != "top/a" || !h.ModTime.Equal(at) || h.Uid+h.Gid != 0 || h.Uname+h.Gname != "" || h.Mode != 0o644 || !plain.ModTime.IsZero() {
		t.Errorf("%+v of %v, %v", h, plain.Header, err)
	}
}

// TestPackageVersion is what the versions of Go's become.
func TestPackageVersion(t *testing.T) {
	for given, want := range map[string]string{
		"v1.2.3":                                    "1.2.3",
		"v1.2.3-rc.1":                               "1.2.3-rc1",
		"v0.0.0-20260102030405-0123456789ab":        "0.0.0-pre20260102030405",
		"v1.2.4-0.20260102030405-0123456789ab":      "1.2.4-pre20260102030405",
		"v1.2.3-rc.1.0.20260102030405-0123456789ab": "1.2.3-pre20260102030405",
		"(devel)": "", "": "",
		"v0.0.0-20260102030405-0123456789ab+dirty": "",
	} {
		if got := main.PackageVersion(given); got != want {
			t.Errorf("%s: %q, not %q", given, got, want)
		}
	}
}

// TestTargets refuses systems that hob is not built for.
func TestTargets(t *testing.T) {
	if _, err := main.ParseTargets("linux/amd64,windows/amd64"); err != nil {
		t.Error(err)
	}
	for _, bad := range []string{"", "linux", "linux/amd64,", "plan9/amd64", "linux/amd64,darwin"} {
		if _, err := main.ParseTargets(bad); err == nil || !strings.Contains(err.Error(), "the targets are") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestLicences refuses a module without a licence.
func TestLicences(t *testing.T) {
	dir := t.TempDir()
	if _, err := main.LicenceTexts(dir); err == nil {
		t.Error("a module without a licence is taken")
	}
	for name, text := range map[string]string{"LICENSE.txt": "one\r\n", "NOTICE": "two", "README.md": "three"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := main.LicenceTexts(dir); err != nil || text != "one\ntwo\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// TestAuthorities is the file of certificates that a container has.
func TestAuthorities(t *testing.T) {
	text, err := main.Authorities()
	if err != nil || strings.Count(text, "-----BEGIN CERTIFICATE-----") < 50 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
