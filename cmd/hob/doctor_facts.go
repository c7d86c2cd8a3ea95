package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"hob/cmd/hob/cli"
	"hob/config"
	"hob/daemon"
	"hob/daemon/api"
	"hob/daemon/api/client"
	"hob/daemon/sys"
)

// doctorFacts is what all checks look at.
type doctorFacts struct {
	home   string
	named  bool  // the caller has chosen the home
	there  bool  // the home exists
	closed error // why the caller may not look into it
	now    func() time.Time
	free   func(dir string) (int64, error)

	client *client.Client // nil: nobody answers
	noone  error          // why
	status api.Status
	took   time.Duration // for the status
	sick   error         // it could not be had
	stored daemon.BackupReport
	lame   error // of looking at the database; daemon.ErrRunning while a hob has it

	config   *config.Snapshot // nil: it cannot be read
	problems []config.Problem
	unread   error
}

// gatherFacts gathers what several checks need. Only a home that cannot be named is an error; the rest is for the checks.
func gatherFacts(ctx context.Context, a *cli.App) (*doctorFacts, error) {
	s := &doctorFacts{now: time.Now, free: sys.DiskFree}
	var err error
	if s.home, s.named, err = a.HomeDir(); err != nil {
		return nil, err
	}
	if err := cli.CheckHome(s.home); err != nil {
		return nil, err
	}
	if s.client, s.noone = a.Client(ctx); s.client != nil && s.client.System {
		s.home = client.SystemHome
	}
	s.enter()
	if s.client != nil {
		start := time.Now()
		s.sick = s.client.Show(ctx, "status", "", &s.status)
		s.took = time.Since(start)
	}
	if s.closed != nil {
		return s, nil
	}
	if s.client == nil && s.there {
		s.stored, s.lame = daemon.CheckDatabase(ctx, s.home)
	}
	s.config, s.problems, s.unread = config.Load(filepath.Join(s.home, "config.toml"), os.Environ())
	return s, nil
}

// enter finds out whether the caller may look into the home. What root looked at would in part become root's.
func (s *doctorFacts) enter() {
	_, mine, err := sys.FileOwner(s.home)
	s.there = !errors.Is(err, os.ErrNotExist)
	switch {
	case !s.there:
	case err != nil:
		s.closed = err
	case !mine:
		s.closed = errors.New("it belongs to another user")
	default:
		_, s.closed = os.ReadDir(s.home)
	}
}

// state is the path of something in hob's state folder.
func (s *doctorFacts) state(parts ...string) string {
	return filepath.Join(append([]string{s.home, "state"}, parts...)...)
}

// idle reports whether no hob works in this home: nobody answers, and its lock is free.
func (s *doctorFacts) idle() bool {
	return s.client == nil && s.closed == nil && !errors.Is(s.noone, client.ErrClosed) && !errors.Is(s.lame, daemon.ErrRunning)
}

// outside is the result of a check that cannot look into the home; nil when it can.
func (s *doctorFacts) outside() *checkResult {
	var r checkResult
	switch {
	case !s.there:
		r = skipCheck("there is no home yet: hob up makes %s", s.home)
	case s.closed != nil:
		r = skipCheck("the home is closed to you")
	default:
		return nil
	}
	return &r
}

// unasked is the result of a check that needs a running hob; nil when there is one.
func (s *doctorFacts) unasked() *checkResult {
	if s.client != nil && s.sick == nil {
		return nil
	}
	r := skipCheck("hob does not answer")
	return &r
}
