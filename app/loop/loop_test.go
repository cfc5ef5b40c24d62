package loop_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"eruptcloud/app/loop"
)

func TestEverySurvivesErrorsAndPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		rounds := 0
		done := make(chan error, 1)
		go func() {
			done <- loop.Every(ctx, "test", time.Second, time.Minute, func(context.Context) error {
				rounds++
				switch rounds {
				case 1:
					return errors.New("refused")
				case 2:
					panic("broken")
				}
				return nil
			})
		}()
		time.Sleep(time.Second + 2*time.Minute + time.Millisecond)
		synctest.Wait()
		if rounds != 3 {
			t.Errorf("after an error and a panic %d rounds ran, want 3", rounds)
		}
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Every returned %v at its context's end, want nil", err)
		}
	})
}

func TestEveryRefusesNoInterval(t *testing.T) {
	if err := loop.Every(t.Context(), "test", 0, 0, nil); err == nil {
		t.Error("Every accepted interval 0, want an error")
	}
}

func TestAlignedRunsOnMultiples(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var at []time.Time
		go func() {
			_ = loop.Aligned(ctx, "test", 30*time.Second, func(context.Context) error {
				at = append(at, time.Now())
				return nil
			})
		}()
		time.Sleep(95 * time.Second)
		synctest.Wait()
		for _, m := range at {
			if !m.Equal(m.Truncate(30 * time.Second)) {
				t.Errorf("ran at %s, want a multiple of 30 s", m)
			}
		}
		if len(at) != 3 {
			t.Errorf("ran %d times in 95 s, want 3", len(at))
		}
	})
}

func TestOffsetIsStableAndWithin(t *testing.T) {
	a, b := loop.Offset("a", time.Minute), loop.Offset("a", time.Minute)
	if a != b || a < 0 || a >= time.Minute {
		t.Errorf("Offset = %s then %s, want the same value below a minute", a, b)
	}
}
