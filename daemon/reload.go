package daemon

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"hob/channels"
	chanall "hob/channels/all"
	"hob/config"
	"hob/daemon/netguard"
	"hob/daemon/secret"
	"hob/daemon/sys"
	"hob/daemon/triggers"
)

// conf makes the daemon what its config says, at the start and at each change of the file.
type conf struct{ *daemon }

// load reads the config at the start. A file that is no TOML at all stops nothing: hob starts with the last file that
// was good, or with its defaults, and says so.
func (d conf) load() {
	var err error
	d.file, err = config.Open(d.opt.config(), filepath.Join(d.opt.state(), "config.good.toml"), os.Environ())
	if err != nil {
		d.log.Error("the config cannot be read: hob runs on the last good one", "err", err)
	}
}

// watchConfig follows the file: what changed in it holds from the next step on, without a restart.
func (d conf) watchConfig(ctx context.Context) error {
	wake, stop := d.file.Changes()
	defer stop()
	g := sys.NewGroup(d.log, nil)
	g.Go(ctx, "config file", func(ctx context.Context) error { return d.file.Run(ctx, d.log) })
	defer g.Wait()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-wake:
			if err := d.reload(ctx); err != nil {
				d.log.Error("reload the config", "err", err)
			}
		}
	}
}

// reload makes model, tools, channels and jobs what the config says now, and tells the owner once what is wrong with it.
func (d conf) reload(ctx context.Context) error {
	if err := d.renew(ctx); err != nil {
		return err
	}
	if err := d.store.Turns.ForgetPrompts(ctx); err != nil {
		return err
	}
	if err := d.follow(ctx); err != nil {
		return err
	}
	return notices(d).tellProblems(ctx)
}

// renew swaps in what is made out of the config: the model and the tools.
func (d conf) renew(ctx context.Context) error {
	c := d.config()
	kit, err := d.tools.Kit(ctx, c)
	if err != nil {
		return err
	}
	d.swap.Lock()
	defer d.swap.Unlock()
	chosen, err := d.store.Commands.ChosenModel(ctx)
	if err != nil {
		return fmt.Errorf("read the chosen model: %w", err)
	}
	lineup := d.registry().Lineup(ctx, c, chosen)
	for _, fault := range lineup.Faults {
		d.log.Error("a model of the config cannot be used", "err", fault.Err, "first", lineup.Chain.First().Info().Name())
	}
	d.live.Store(&live{Lineup: lineup, kit: kit, hooks: d.live.Load().hooked(c)})
	return nil
}

// resolve finds the value behind a secret reference and keeps it out of logs from then on.
func (d conf) resolve(ctx context.Context, name, ref string) (string, error) {
	return secret.Resolver{Redact: &d.secrets, Home: d.opt.Home, Warn: func(text string) { d.log.Warn("secret", "problem", text) }}.Resolve(ctx, name, ref)
}

// follow makes channels and jobs what the config says, and notes which of them cannot be used.
func (d conf) follow(ctx context.Context) error {
	sections, off := d.sections(ctx)
	d.host.Replace(sections)
	if err := notices(d).onlyTroubles(ctx, slices.Collect(maps.Keys(sections))); err != nil {
		return err
	}
	more, err := d.schedule().Sync(ctx, d.wanted(&off), triggers.Heartbeat(d.config().Heartbeat))
	hooked, hooksErr := d.webhooks.Sync(ctx, d.wantedHooks(&off))
	seen, watchesErr := d.watches().Sync(ctx, d.wantedWatches(&off))
	more, err = slices.Concat(more, hooked, seen), errors.Join(err, hooksErr, watchesErr)
	d.swap.Lock()
	defer d.swap.Unlock()
	next := *d.live.Load()
	next.off = append(off, more...)
	d.live.Store(&next)
	return err
}

// sections makes the channels of the config. One that cannot be made is kept with its error: it is shown, and the others work.
func (d conf) sections(ctx context.Context) (list map[string]channels.Section, off []string) {
	list = map[string]channels.Section{}
	for _, c := range d.config().Channels {
		env := channels.Env{
			HTTP: d.http, Clock: d.clock, Log: d.log, Owner: d.owner,
			Secret:  func(ref string) (string, error) { return d.resolve(ctx, "channels."+c.Name, ref) },
			Pairing: func(ctx context.Context) (bool, error) { return d.store.Pairings.IsOpen(ctx, d.clock.Wall(), c.Name) },
		}
		var ch channels.Channel
		err := d.network(ctx, c, &env)
		if err == nil {
			ch, err = channels.Build(chanall.All(), c.Name, c.Kind, env, d.lenient(c.Section, &off))
		}
		list[c.Name] = channels.Section{Kind: c.Kind, Print: fingerprint(c, d.config().Network), Channel: ch, Err: err}
		if err != nil {
			off = append(off, err.Error())
		}
	}
	return list, off
}

// lenient decodes a section of a running daemon: unknown keys are noted, and do not switch it off.
func (d conf) lenient(section config.Section, off *[]string) func(any) error {
	return func(dst any) error {
		unknown, err := section.Fill(dst)
		for _, p := range unknown {
			*off = append(*off, p.String())
		}
		return err
	}
}

// proxy is the way to the servers of a section: its own proxy, else the common one. The password of a proxy is a secret.
func (d conf) proxy(ctx context.Context, section, own string) (p netguard.Proxy, err error) {
	address := own
	if address == "" {
		section, address = "network", d.config().Network.Proxy
	}
	name := section + ".proxy"
	if secret.IsReference(address) {
		if address, err = d.resolve(ctx, name, address); err != nil {
			return p, err
		}
	}
	if password, put := netguard.Password(address); put != nil {
		if secret.IsReference(password) {
			if password, err = d.resolve(ctx, name+".password", password); err != nil {
				return p, err
			}
		}
		d.secrets.Add(name+".password", password)
		address = put(password)
	}
	return netguard.NewProxy(address)
}

// web asks the server of a model; nil: with a client of its own, without a proxy.
func (d conf) web(ctx context.Context, section, own string) (*http.Client, error) {
	p, err := d.proxy(ctx, section, own)
	if err != nil || p.None() {
		return nil, err
	}
	return &http.Client{Transport: p.Transport()}, nil
}

// asConfigured asks through the proxy that the config names at that moment: for an account, which outlives a change of the config.
type asConfigured struct{ conf }

// RoundTrip asks a server once.
func (a asConfigured) RoundTrip(req *http.Request) (*http.Response, error) {
	web, err := a.web(req.Context(), "network", "")
	if err != nil {
		return nil, fmt.Errorf("network.proxy: %w", err)
	}
	if web == nil {
		web = a.http
	}
	return web.Transport.RoundTrip(req)
}

// network puts into a channel's surroundings how it reaches its servers.
func (d conf) network(ctx context.Context, c config.Channel, env *channels.Env) error {
	p, err := d.proxy(ctx, "channels."+c.Name, c.Proxy)
	if err != nil {
		return fmt.Errorf("channels.%s: proxy: %w", c.Name, err)
	}
	if !p.None() {
		env.HTTP, env.Dial = &http.Client{Timeout: d.http.Timeout, Transport: p.Transport()}, p.DialContext
	}
	return nil
}

// fingerprint changes when a section's content or its proxy does.
func fingerprint(c config.Channel, net config.Network) string {
	var content map[string]any
	if err := c.Decode(&content); err != nil {
		return err.Error()
	}
	sum := sha256.Sum256([]byte(fmt.Sprint(content, cmp.Or(c.Proxy, net.Proxy))))
	return hex.EncodeToString(sum[:8])
}

// wanted is the jobs that the config asks for; what is odd about them goes to off.
func (d conf) wanted(off *[]string) (list []triggers.Wanted) {
	for _, s := range d.config().Jobs {
		list = append(list, triggers.Wanted{Name: s.Name, Decode: d.lenient(s, off)})
	}
	return list
}

// wantedWatches is the same for file watches.
func (d conf) wantedWatches(off *[]string) (list []triggers.Wanted) {
	for _, s := range d.config().Watches {
		list = append(list, triggers.Wanted{Name: s.Name, Decode: d.lenient(s, off)})
	}
	return list
}

// wantedHooks is the same for webhooks.
func (d conf) wantedHooks(off *[]string) (list []triggers.Wanted) {
	for _, s := range d.config().Hooks {
		list = append(list, triggers.Wanted{Name: s.Name, Decode: d.lenient(s, off)})
	}
	return list
}
