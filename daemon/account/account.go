// Package account keeps the owner's accounts at services: it sets them up, stores their credentials, tests and removes them, and gives the
// tools what they need of them. Kinds of accounts are in the sub-packages; package all lists them.
//
// Credentials are in the system's keyring or in files of mode 0600 (daemon/secret), never in the config and never in the database. No account
// is opened, and no credential is read, before something needs it.
package account

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/daemon/api"
	"hob/daemon/event"
	"hob/daemon/oauth"
	"hob/daemon/secret"
	"hob/tools"
	"hob/tools/calendar"
)

// Kind is a kind of account. There is at most one account of a kind, and it has the kind's name.
type Kind struct {
	Name   string
	Fields []Field
	// Connect signs in with the values of the fields and returns what is to be stored.
	Connect func(ctx context.Context, values map[string]string) (State, error)
	// Renew tests stored credentials, and returns them with what has changed at the service.
	Renew func(ctx context.Context, stored json.RawMessage) (State, error)
	// Open makes the account of what is stored: a calendar.Calendar, or what the tools of the kind take. It asks no server.
	Open func(stored json.RawMessage) (any, error)
	// Linked is what a kind with a sign-in by OAuth has in place of Renew and Open; its Connect asks no server. nil: the kind has none.
	Linked *Linked
	// Calendar is true for a kind whose accounts are each a calendar.Calendar.
	Calendar bool
}

// Field is a value that setting up an account needs.
type Field struct {
	Name     string
	Secret   bool
	Optional bool
}

// State is what is stored of an account, and what people are told of it.
type State struct {
	Stored  json.RawMessage
	Secrets []string // the values in it that must not be shown
	About   About
}

// About is what people are told of an account.
type About = api.AccountAbout

// Config is what a Service needs.
type Config struct {
	Kinds  []Kind
	Vault  *secret.Vault
	Redact *secret.Redactor
	Log    *slog.Logger
	Links  Links // of kinds with a sign-in by OAuth
}

// Service keeps the accounts. It is safe for concurrent use.
type Service struct {
	Config
	mu      sync.Mutex // guards open, and keeps changes of one account apart
	open    map[string]any
	faults  map[string]string // why an account could not be used at its last use, by name
	changed chan struct{}
	links   links
}

// New makes the service. It reads nothing.
func New(c Config) *Service {
	s := &Service{Config: c, open: map[string]any{}, faults: map[string]string{}, changed: make(chan struct{}, 1), links: links{accounts: map[string]*oauth.Account{}}}
	if c.Links.Redirects != nil {
		c.Links.Redirects.Add(s.SignIns().parties)
	}
	return s
}

// Changed gets a value after an account was added or removed.
func (s *Service) Changed() <-chan struct{} { return s.changed }

// record is the form in which an account is stored.
type record struct {
	Stored  json.RawMessage `json:"stored"`
	Secrets []string        `json:"secrets"`
	About   About           `json:"about"`
}

// vaultName is the name of an account in the vault, which has no underscores.
func vaultName(kind string) string { return "account-" + strings.ReplaceAll(kind, "_", "-") }

// kind finds a kind by its name.
func (s *Service) kind(name string) (Kind, error) {
	var names []string
	for _, k := range s.Kinds {
		if k.Name == name {
			return k, nil
		}
		names = append(names, k.Name)
	}
	return Kind{}, event.NewFault(event.Missing, "there are: "+strings.Join(names, ", "), "there is no kind of account %q", name)
}

// Accounts returns the names of the accounts with calendars. It looks only whether their files exist.
func (s *Service) Accounts() []string { return s.names(func(k Kind) bool { return k.Calendar }) }

// names returns the accounts of some kinds that are set up.
func (s *Service) names(which func(Kind) bool) (names []string) {
	for _, k := range s.Kinds {
		if which(k) && s.Vault.Has(vaultName(k.Name)) {
			names = append(names, k.Name)
		}
	}
	return names
}

// load reads an account. Its secrets are known to the redactor before anybody can use them.
func (s *Service) load(ctx context.Context, name string) (r record, where string, err error) {
	raw, where, err := s.Vault.Load(ctx, vaultName(name))
	if errors.Is(err, secret.ErrNone) {
		return r, "", event.NewFault(event.Missing, "set it up with: hob account add "+name, "there is no account %s", name)
	}
	if err == nil {
		err = json.Unmarshal(raw, &r)
	}
	if err != nil {
		return r, where, event.NewFault(event.Unavailable, "set it up again with: hob account add "+name, "the account %s cannot be read: %v", name, err)
	}
	s.hide(name, r.Secrets)
	return r, where, nil
}

func (s *Service) hide(name string, secrets []string) {
	for _, one := range secrets {
		s.Redact.Add("account."+name, one)
	}
}

// save stores an account, and forgets the one that was open.
func (s *Service) save(ctx context.Context, name string, st State) error {
	s.hide(name, st.Secrets)
	raw, err := json.Marshal(record(st))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.Vault.Save(ctx, vaultName(name), raw); err != nil {
		return fmt.Errorf("store the account %s: %w", name, err)
	}
	delete(s.open, name)
	s.signal()
	return nil
}

func (s *Service) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// List returns the accounts that are set up.
func (s *Service) List(ctx context.Context) ([]api.LinkedAccount, error) {
	list := []api.LinkedAccount{}
	for _, name := range s.names(func(Kind) bool { return true }) {
		a, err := s.Show(ctx, name)
		if f, ok := event.AsFault(err); ok {
			a, err = api.LinkedAccount{Name: name, Problem: f.Text + "; " + f.Hint}, nil
		}
		if err != nil {
			return nil, err
		}
		list = append(list, a)
	}
	return list, nil
}

// Show returns one account.
func (s *Service) Show(ctx context.Context, name string) (api.LinkedAccount, error) {
	k, err := s.kind(name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	r, where, err := s.load(ctx, name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	s.mu.Lock()
	a := api.LinkedAccount{Name: name, AccountAbout: r.About, Where: where, Problem: s.faults[name]}
	s.mu.Unlock()
	return a, s.SignIns().describe(ctx, k, r, &a)
}

// Add signs in, and stores the account if that works. It replaces one of the same kind.
func (s *Service) Add(ctx context.Context, name string, in api.AccountValues) (api.LinkedAccount, error) {
	k, err := s.kind(name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	values := s.values(ctx, k, in.Values)
	for _, f := range k.Fields {
		if values[f.Name] == "" && !f.Optional {
			return api.LinkedAccount{}, event.NewFault(event.Invalid, "give it as --"+f.Name, "the account %s needs %s", name, f.Name)
		}
		if f.Secret && values[f.Name] != "" {
			s.hide(name, []string{values[f.Name]})
		}
	}
	s.SignIns().unlink(name)
	made, err := s.keep(ctx, name, func() (State, error) { return k.Connect(ctx, values) })
	made.SignIn = k.Linked != nil // an older sign-in may be of another client, or for less
	return made, err
}

// values returns the values of an account that is set up: those given, and of an account with a sign-in the stored ones beside them. What cannot be read
// is replaced.
func (s *Service) values(ctx context.Context, k Kind, given map[string]string) map[string]string {
	if k.Linked == nil {
		return given
	}
	values := map[string]string{}
	if r, _, err := s.load(ctx, k.Name); err == nil {
		values = k.Linked.Values(r.Stored)
	}
	maps.Copy(values, given)
	return values
}

// Test signs in with the stored credentials, and reads again what the account has.
func (s *Service) Test(ctx context.Context, name string) (api.LinkedAccount, error) {
	k, err := s.kind(name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	r, _, err := s.load(ctx, name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	if k.Linked != nil {
		account, err := s.SignIns().link(k, r.Stored)
		if err != nil {
			return api.LinkedAccount{}, err
		}
		return s.keep(ctx, name, func() (State, error) { return k.Linked.Renew(ctx, r.Stored, account) })
	}
	return s.keep(ctx, name, func() (State, error) { return k.Renew(ctx, r.Stored) })
}

// keep stores what a sign-in returns.
func (s *Service) keep(ctx context.Context, name string, get func() (State, error)) (api.LinkedAccount, error) {
	st, err := get()
	if err == nil {
		err = s.save(ctx, name, st)
	}
	if err = s.used(ctx, name, err); err != nil {
		return api.LinkedAccount{}, forPeople(err)
	}
	return s.Show(ctx, name)
}

// Faults returns why accounts could not be used at their last use, by name. It reads no credential.
func (s *Service) Faults() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := maps.Clone(s.faults)
	maps.DeleteFunc(list, func(_, fault string) bool { return fault == "" })
	return list
}

// used keeps whether a service answered, for lists and for the status, and tells the owner when it begins to refuse. It returns err.
func (s *Service) used(ctx context.Context, name string, err error) error {
	code, text, _, refused := tools.Refusal(err)
	if ctx.Err() != nil || err != nil && !refused || slices.Contains([]tools.Code{tools.Validation, tools.NotFound, tools.Conflict}, code) {
		return err // it says nothing of the account
	}
	s.mu.Lock()
	was := s.faults[name]
	s.faults[name] = text
	s.mu.Unlock()
	if was == "" && text != "" && s.Links.Tell != nil {
		key := fmt.Sprintf("account:%s:%s", name, s.Links.Now().UTC().Format(time.DateOnly))
		s.Links.Tell(context.WithoutCancel(ctx), key, fmt.Sprintf("The account %s cannot be used: %s. hob account test %s tries it.", name, text, name))
	}
	return err
}

// Remove forgets an account.
func (s *Service) Remove(ctx context.Context, name string) (api.LinkedAccount, error) {
	k, err := s.kind(name)
	if err != nil {
		return api.LinkedAccount{}, err
	}
	if !s.Vault.Has(vaultName(k.Name)) {
		return api.LinkedAccount{}, event.NewFault(event.Missing, "see: hob account list", "there is no account %s", name)
	}
	gone := api.LinkedAccount{Name: name}
	if k.Linked != nil {
		if gone.Problem, err = s.SignIns().revoke(ctx, k); err != nil {
			return gone, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.Vault.Delete(ctx, vaultName(name))
	delete(s.open, name)
	delete(s.faults, name)
	s.signal()
	return gone, err
}

// forPeople turns an error for a model into one for the command line.
func forPeople(err error) error {
	code, text, hint, ok := tools.Refusal(err)
	if !ok {
		return err
	}
	kinds := map[tools.Code]event.FaultKind{tools.Validation: event.Invalid, tools.NotFound: event.Missing, tools.Denied: event.Refused, tools.Conflict: event.Clash}
	kind, ok := kinds[code]
	if !ok {
		kind = event.Unavailable
	}
	return &event.Fault{Kind: kind, Text: text, Hint: hint, Err: err}
}

// opened opens an account once.
func (s *Service) opened(ctx context.Context, name string) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a := s.open[name]; a != nil {
		return a, nil
	}
	k, err := s.kind(name)
	if err != nil {
		return nil, forModel(err)
	}
	r, _, err := s.load(ctx, name)
	if err != nil {
		return nil, forModel(err)
	}
	var a any
	if k.Linked == nil {
		a, err = k.Open(r.Stored)
	} else if account, fault := s.SignIns().link(k, r.Stored); fault != nil {
		err = fault
	} else {
		a, err = k.Linked.Open(r.Stored, account)
	}
	if err != nil {
		return nil, fmt.Errorf("open the account %s: %w", name, err)
	}
	s.open[name] = a
	return a, nil
}

// One is an account that has tools of its own; T is what they take.
type One[T any] struct {
	Service *Service
	Name    string // of its kind
}

// Set reports whether the account is set up. It looks only whether its file exists.
func (o One[T]) Set() bool { return o.Service.Vault.Has(vaultName(o.Name)) }

// Open opens the account.
func (o One[T]) Open(ctx context.Context) (t T, err error) {
	a, err := o.Service.opened(ctx, o.Name)
	if err != nil {
		return t, err
	}
	t, ok := a.(T)
	if !ok {
		return t, fmt.Errorf("the account %s is a %T", o.Name, a)
	}
	return t, nil
}

// calendarOf opens the calendars of an account.
func (s *Service) calendarOf(ctx context.Context, name string) (calendar.Calendar, error) {
	return One[calendar.Calendar]{s, name}.Open(ctx)
}

// forModel turns a fault into an error of a tool.
func forModel(err error) error {
	f, ok := event.AsFault(err)
	if !ok {
		return err
	}
	return tools.Refuse(tools.ConfigError, f.Hint, "%s", f.Text)
}
