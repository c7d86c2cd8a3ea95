package web

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/daemon/text"
	"hob/tools"
)

// Secret is an entry of [tools.web.secrets]: a value that header fields name by its handle, and the
// hosts that may receive it.
type Secret struct {
	Value string   // a reference, see daemon/secret
	Hosts []string // exact host names
}

// handle matches the name of a secret in a header value.
var handle = sys.Regexp(`\bsecret:([A-Za-z0-9_-]+)`)

// handles returns the secrets of a call, each once, sorted. It refuses unknown secrets, secrets for
// other hosts, secrets without encryption, and handles outside header values.
func (h asker) handles(in HTTPInput, t target) ([]string, error) {
	// Addresses and bodies end up in logs. Only the name of a known secret is refused there; other text may look like one.
	for _, m := range handle().FindAllStringSubmatch(in.URL+"\n"+in.Body, -1) {
		if _, ok := h.Secrets[m[1]]; ok {
			return nil, tools.Refuse(tools.Validation, "name it in a header value", "secret:%s is in the address or the body, where no secret is filled in", m[1])
		}
	}
	found := map[string]bool{}
	for _, v := range in.Headers {
		for _, m := range handle().FindAllStringSubmatch(v, -1) {
			found[m[1]] = true
		}
	}
	names := slices.Sorted(maps.Keys(found))
	for _, name := range names {
		if err := h.maySend(name, t); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// maySend checks one secret against the target.
func (h asker) maySend(name string, t target) error {
	s, ok := h.Secrets[name]
	switch {
	case !ok:
		known := "there is none: [tools.web.secrets] names them"
		if len(h.Secrets) > 0 {
			known = text.ThereAre(slices.Sorted(maps.Keys(h.Secrets)), len(h.Secrets))
		}
		return tools.Refuse(tools.Validation, known, "there is no secret %q", text.Shorten(name, 60))
	case !slices.ContainsFunc(s.Hosts, func(host string) bool { return strings.EqualFold(strings.TrimSuffix(host, "."), t.host) }):
		return tools.Refuse(tools.Denied, "", "the secret %s is for %s, not for %s", name, strings.Join(s.Hosts, ", "), t.host)
	case strings.HasPrefix(t.link, "http://") && !t.private:
		return tools.Refuse(tools.Denied, "use https", "a secret is not sent without encryption")
	}
	return nil
}

// filled replaces the handles by their values. It also adds the values to hide, which removes them
// from the answer.
func (h asker) filled(ctx context.Context, fields map[string]string, names []string, hide *secret.Redactor) (map[string]string, error) {
	// All values are resolved before the first one is filled in, so that a failure sends nothing.
	values := map[string]string{}
	for _, name := range names {
		v, err := h.Resolve(ctx, "tools.web.secrets."+name, h.Secrets[name].Value)
		if err != nil {
			if ctx.Err() != nil {
				return nil, errors.Join(ctx.Err(), err)
			}
			return nil, tools.Refuse(tools.ConfigError, "look at [tools.web.secrets] "+name, "%v", err)
		}
		// A very short value cannot be recognised in the answer, so it is not sent at all.
		if !hide.Add(name, v) {
			return nil, tools.Refuse(tools.ConfigError, "", "the secret %s is too short to be kept out of answers; want 8 characters or more", name)
		}
		values[name] = v
	}
	out := make(map[string]string, len(fields))
	// A new map: the input of the call, which is recorded, keeps the handles.
	for field, v := range fields {
		out[field] = handle().ReplaceAllStringFunc(v, func(m string) string { return values[strings.TrimPrefix(m, "secret:")] })
	}
	return out, nil
}
