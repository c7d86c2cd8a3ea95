package setup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/config/document"
	"hob/config/schema"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/secret"
)

// sectionDraft is a section of config.toml that is being filled in.
// Its way: give for each flag, then write, which calls free, complete and keep in this order.
type sectionDraft struct {
	app    *cli.App
	part   config.Part
	name   string
	values map[string]string // by the key's name in the section
	pasted map[string]string // secrets to be written into files, by key
	asker  *asker            // nil: nobody can be asked
	asked  bool              // offerKeys has asked
}

// give sets a key from a flag. A literal secret is refused, because every user of the machine can read a command line.
func (d *sectionDraft) give(k schema.Key, flag, value string) error {
	switch {
	case !k.Secret() || value == "" || secret.IsReference(value):
		d.values[k.Name] = value
		return nil
	case value != "-":
		return LiteralSecret("--" + flag)
	}
	// The value is "-": the secret is piped in.
	example := "hob channels add … --" + flag + " -"
	if key, setup := strings.CutPrefix(flag, "channel-key "); setup {
		example = "hob setup --yes … --channel-key " + key + "=-"
	}
	text, err := cli.PipedSecret(d.app.In, "secret", "for example: printf %s \"$SECRET\" | "+example)
	if err != nil {
		return err
	}
	return d.paste(k, text)
}

// paste keeps a literal secret, which is written into a file once the section is valid.
func (d *sectionDraft) paste(k schema.Key, text string) error {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\r\n") {
		return cli.Usage("", "%s: want one line with the secret", k.Name)
	}
	d.pasted[k.Name] = text
	// The file does not exist yet. The reference lets the section pass its check until keep writes the file.
	d.values[k.Name] = "file:" + filepath.ToSlash(filepath.Join(SecretsFolder, d.name+"-"+k.Name))
	return nil
}

// write checks the section, asks for missing keys, writes the secrets and then the config. It returns what takes all of that back.
func (d *sectionDraft) write(ctx context.Context, home string) (undo func() error, err error) {
	// The name becomes a TOML key, the beginning of addresses and a part of file names, so few characters are allowed.
	if !regexp.MustCompile(`^[A-Za-z0-9][-_A-Za-z0-9]*$`).MatchString(d.name) {
		return nil, cli.Usage("for example --name "+d.part.Named, "--name %q: want letters, digits, - and _", d.name)
	}
	path := filepath.Join(home, "config.toml")
	// before is what this command has read. Save refuses to write if the file has another content by
	// then.
	before, err := config.FileContent(path)
	if err != nil {
		return nil, err
	}
	if err := d.free(before); err != nil {
		return nil, err
	}
	// next is the whole document with the new section. Nothing is written yet.
	next, err := d.complete(ctx, path, before)
	if err != nil {
		return nil, err
	}
	var made []string
	if len(d.pasted) > 0 {
		// The secrets are written before the config that refers to them. keep may have had to choose other file
		// names, so the document is made again.
		if made, err = d.keep(home); err != nil {
			return nil, err
		}
		if next, err = document.Set(d.reference(), path, before, d.changes()...); err != nil {
			return nil, err
		}
	}
	return func() error { return errors.Join(Save(path, next, before), removeAll(made)) }, Save(path, before, next)
}

// reference is the config reference that also checks the form of this draft's secrets, as far as they are known here: those that were pasted,
// and variables of this process. A keyring or a program is not asked.
func (d *sectionDraft) reference() config.Reference {
	return config.NewReference(daemon.ConfigSections(func(ref string) (string, bool) {
		for key, text := range d.pasted {
			if d.values[key] == ref {
				return text, true
			}
		}
		name, isEnv := strings.CutPrefix(ref, "env:")
		if !isEnv {
			return "", false
		}
		return os.LookupEnv(strings.TrimSpace(name))
	}))
}

// removeAll removes files that this process has made.
func removeAll(paths []string) (err error) {
	for _, p := range paths {
		err = errors.Join(err, os.Remove(p))
	}
	return err
}

// free refuses a name that another channel has.
func (d *sectionDraft) free(doc []byte) error {
	var tree struct {
		Channels map[string]any `toml:"channels"`
	}
	if err := toml.Unmarshal(bytes.TrimPrefix(doc, []byte("\xef\xbb\xbf")), &tree); err != nil {
		return &cli.Problem{Code: cli.ExitFailed, Text: "config.toml cannot be read as it is", Hint: "see: hob config validate"}
	}
	if _, taken := tree.Channels[d.name]; taken {
		return &cli.Problem{Code: cli.ExitFailed, Text: fmt.Sprintf("there is a channel %s already", d.name), Hint: "choose another --name, or change it with: hob config set " + d.key("KEY") + " VALUE"}
	}
	return nil
}

// key is the full name of a key of the section.
func (d *sectionDraft) key(name string) string {
	return config.KeyText(append([]string{"channels", d.name}, strings.Split(name, ".")...))
}

// changes are the keys to set, the kind first.
// The kind decides the types of the other keys (typedValue), so it has to be in the document before them.
func (d *sectionDraft) changes() []document.Change {
	list := []document.Change{{Key: d.key("kind"), Value: d.part.Kind}}
	for _, k := range d.part.Keys[1:] {
		if v, ok := d.values[k.Name]; ok {
			list = append(list, document.Change{Key: d.key(k.Name), Value: v})
		}
	}
	return list
}

// taken waits until the running daemon has the channel; nil after reloadTimeout.
func (d *sectionDraft) taken(ctx context.Context, c *client.Client) *api.Channel {
	return Loaded(ctx, func(ctx context.Context) *api.Channel {
		rows, err := client.List(ctx, c, api.Channels, client.Filter{})
		if i := slices.IndexFunc(rows, func(r api.Channel) bool { return r.Name == d.name }); err == nil && i >= 0 {
			return &rows[i]
		}
		return nil
	})
}
