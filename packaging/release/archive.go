package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// entry is one file of an archive.
type entry struct {
	name string // with slashes; one that ends with a slash is an empty folder
	from string // the file with the content
	text string // the content, if from is ""
	mode fs.FileMode
}

// folder is a folder of files, as entries below a name, sorted.
func folder(dir, below string) ([]entry, error) {
	files, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	var all []entry
	for _, f := range files {
		all = append(all, entry{name: path.Join(below, f.Name()), from: filepath.Join(dir, f.Name()), mode: 0o644})
	}
	return all, nil
}

func (e entry) content() ([]byte, error) {
	if e.from == "" {
		return []byte(e.text), nil
	}
	b, err := os.ReadFile(e.from)
	if err != nil {
		return nil, fmt.Errorf("read a file: %w", err)
	}
	return b, nil
}

// archives packs the program with its licence, man pages and completions, for every target.
func (r *release) archives(context.Context) error {
	documents := filepath.Join(r.work, "documents")
	for _, t := range r.targets {
		top := "hob_" + r.version + "_" + t.String()
		all := []entry{
			{name: top + "/" + filepath.Base(t.binary), from: t.binary, mode: 0o755},
			{name: top + "/LICENSE", from: "LICENSE", mode: 0o644},
			{name: top + "/THIRD-PARTY-LICENSES.txt", from: filepath.Join(documents, "THIRD-PARTY-LICENSES.txt"), mode: 0o644},
		}
		for _, below := range []string{"completions", "man"} {
			list, err := folder(filepath.Join(documents, below), top+"/"+below)
			if err != nil {
				return err
			}
			all = append(all, list...)
		}
		write, suffix := writeTar, ".tar.gz"
		if t.os == "windows" {
			write, suffix = writeZip, ".zip"
		}
		if err := writeFile(r.name(t, suffix), all, r.epoch, write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile makes one archive.
func writeFile(file string, all []entry, at time.Time, write func(*bytes.Buffer, []entry, time.Time) error) error {
	var b bytes.Buffer
	if err := write(&b, all, at); err != nil {
		return fmt.Errorf("pack %s: %w", file, err)
	}
	return publish(file, b.Bytes())
}

// publish writes a file of the release.
func publish(file string, content []byte) error {
	if err := os.WriteFile(file, content, 0o644); err != nil { //nolint:gosec // other people may read a release
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// writeTar writes a compressed tar archive that says nothing about this machine: no owner, one time for all.
func writeTar(b *bytes.Buffer, all []entry, at time.Time) error {
	var plain bytes.Buffer
	w := tar.NewWriter(&plain)
	for _, e := range all {
		text, err := e.content()
		if err != nil {
			return err
		}
		h := &tar.Header{Name: e.name, Mode: int64(e.mode), Size: int64(len(text)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR}
		if strings.HasSuffix(e.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return compress(b, plain.Bytes())
}

// compress compresses a text. The header has neither a name nor a time.
func compress(b *bytes.Buffer, plain []byte) error {
	w, err := gzip.NewWriterLevel(b, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	_, err = w.Write(plain)
	return errors.Join(err, w.Close())
}

// writeZip writes a zip archive. Its times have no zone, so they are written as UTC.
func writeZip(b *bytes.Buffer, all []entry, at time.Time) error {
	w := zip.NewWriter(b)
	for _, e := range all {
		text, err := e.content()
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at.UTC()}
		h.SetMode(e.mode)
		f, err := w.CreateHeader(h)
		if err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
		if _, err := f.Write(text); err != nil {
			return fmt.Errorf("write %s: %w", e.name, err)
		}
	}
	return w.Close()
}

// checksums writes SHA256SUMS, in the form that sha256sum --check reads.
func (r *release) checksums(context.Context) error {
	files, err := os.ReadDir(r.out)
	if err != nil {
		return fmt.Errorf("list the files: %w", err)
	}
	var b strings.Builder
	for _, f := range files {
		sum, err := checksum(filepath.Join(r.out, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s  %s\n", sum, f.Name())
	}
	return publish(filepath.Join(r.out, "SHA256SUMS"), []byte(b.String()))
}

func checksum(file string) (sum string, err error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("open a file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read a file: %w", err)
	}
	return fmt.Sprintf("%x", h.Sum(nil)), nil
}
