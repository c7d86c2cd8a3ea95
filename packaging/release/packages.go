package main

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// tools is the module file of the programs that this one calls.
const tools = "-modfile=packaging/tools/release.mod"

// What package managers show: a line, and what they show below it.
const (
	summary     = "background daemon that does chores for one person"
	description = "hob answers where you chat, runs your recurring prompts, watches your files and\ntakes webhooks. It keeps all it knows in one SQLite file in /var/lib/hob."
)

// packages makes the .deb, the .rpm and the .apk of every target with Linux.
func (r *release) packages(ctx context.Context) error {
	out, err := filepath.Abs(r.out)
	if err != nil {
		return fmt.Errorf("find the folder: %w", err)
	}
	// nfpm copies the times of an .apk's scripts, which are those of the checkout.
	scripts, err := filepath.Glob("packaging/apk/*")
	if err != nil {
		return fmt.Errorf("find the scripts: %w", err)
	}
	for _, file := range scripts {
		if err := os.Chtimes(file, r.epoch, r.epoch); err != nil {
			return fmt.Errorf("set the time of a script: %w", err)
		}
	}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		env := []string{"HOB_ARCH=" + t.arch, "HOB_VERSION=" + r.version, "HOB_BINARY=" + t.binary, "HOB_WORK=" + r.work}
		for _, format := range []string{"deb", "rpm", "apk"} {
			about := summary + "\n" + description
			if format == "apk" { // which knows lines such as "name = value" only
				about = summary
			}
			_, err := r.with(ctx, append(env, "HOB_DESCRIPTION="+about), "go", "tool", tools, "nfpm", "package", "--config", "packaging/nfpm.yaml", "--packager", format, "--target", out+"/")
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// containers packs, for every target with Linux, all that a container image is built from: the container file, and below root/ the whole
// file system of the image. The image needs no other image.
func (r *release) containers(context.Context) error {
	certificates, err := authorities()
	if err != nil {
		return err
	}
	for _, t := range r.targets {
		if t.os != "linux" {
			continue
		}
		all := []entry{
			{name: "Containerfile", from: "packaging/container/Containerfile", mode: 0o644},
			{name: "Dockerfile", from: "packaging/container/Containerfile", mode: 0o644}, // the name that docker looks for
			{name: "root/etc/passwd", text: "hob:x:65532:65532:hob:/var/lib/hob:/sbin/nologin\n", mode: 0o644},
			{name: "root/etc/ssl/certs/ca-certificates.crt", text: certificates, mode: 0o644},
			{name: "root/tmp/", mode: 0o1777},
			{name: "root/usr/bin/hob", from: t.binary, mode: 0o755},
			{name: "root/usr/share/doc/hob/LICENSE", from: "LICENSE", mode: 0o644},
			{name: "root/usr/share/doc/hob/THIRD-PARTY-LICENSES.txt", from: filepath.Join(r.work, "documents", "THIRD-PARTY-LICENSES.txt"), mode: 0o644},
			{name: "root/var/lib/", mode: 0o755},
			{name: "home/hob/", mode: 0o700}, // with its mode in the archive, because only BuildKit knows COPY --chmod
		}
		if err := writeFile(r.name(t, "_container.tar.gz"), all, r.epoch, writeTar); err != nil {
			return err
		}
	}
	return nil
}

// authorities are Mozilla's certificate authorities, as OpenSSL's file of them. One that browsers trust only in part is left out, because
// the file cannot say so.
func authorities() (string, error) {
	var b strings.Builder
	for c := range bundle.Roots() {
		if c.Constraint != nil {
			continue
		}
		if _, err := x509.ParseCertificate(c.Certificate); err != nil {
			return "", fmt.Errorf("read a certificate: %w", err)
		}
		if err := pem.Encode(&b, &pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate}); err != nil {
			return "", fmt.Errorf("write a certificate: %w", err)
		}
	}
	if b.Len() == 0 {
		return "", errors.New("the module of certificate authorities has none: update golang.org/x/crypto/x509roots/fallback")
	}
	return b.String(), nil
}

// materials writes a software bill of materials (CycloneDX, JSON) of every program, from what the Go tool has written into it.
func (r *release) materials(ctx context.Context) error {
	for _, t := range r.targets {
		_, err := r.output(ctx, "go", "tool", tools, "cyclonedx-gomod", "bin", "-json", "-noserial", "-notimestamp",
			"-version", "v"+r.version, "-output", r.name(t, ".cdx.json"), t.binary)
		if err != nil {
			return err
		}
	}
	return nil
}

// formula writes the Homebrew formula, which has the address and the checksum of the archives in it.
func (r *release) formula(context.Context) error {
	if r.url == "" {
		fmt.Println("  left out: -url says where the archives will be")
		return nil
	}
	template, err := os.ReadFile("packaging/homebrew/hob.rb")
	if err != nil {
		return fmt.Errorf("read the template: %w", err)
	}
	pairs := []string{"@VERSION@", r.version, "@URL@", r.url}
	for _, t := range r.targets {
		if t.os == "windows" {
			continue
		}
		file := r.name(t, ".tar.gz")
		sum, err := checksum(file)
		if err != nil {
			return err
		}
		pairs = append(pairs, "@URL_"+t.String()+"@", strings.TrimSuffix(r.url, "/")+"/"+filepath.Base(file), "@SHA256_"+t.String()+"@", sum)
	}
	text := strings.NewReplacer(pairs...).Replace(string(template))
	if strings.Contains(text, "@URL_") {
		return errors.New("the formula needs the archives for macOS and Linux: name all of them in -targets, or leave out -url")
	}
	return publish(filepath.Join(r.out, "hob.rb"), []byte(text))
}
