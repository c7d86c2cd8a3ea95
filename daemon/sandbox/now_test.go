package sandbox_test

import (
	"testing"

	"hob/daemon/sandbox"
)

func TestNowDoesNotWaitForTheProbe(t *testing.T) {
	s := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Require})
	if now := s.Now(); !now.Probing || now.Mode != sandbox.Require || now.Works || now.Kind != "" {
		t.Errorf("before the probe: %+v", now)
	}
	if state, now := s.State(), s.Now(); state.Probing || now.Probing || now.Kind != state.Kind || now.Why != state.Why {
		t.Errorf("after the probe: %+v, State says %+v", now, state)
	}
	if off := sandbox.New(t.Context(), sandbox.Config{Mode: sandbox.Off}).Now(); off.Probing || off.Kind != "none" {
		t.Errorf("switched off: %+v", off)
	}
}
