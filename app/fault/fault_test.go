package fault_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"eruptcloud/app/fault"
)

func TestForeignErrorsShowNothing(t *testing.T) {
	err := fault.Of(fmt.Errorf("dial tcp 10.0.0.5: %w", errors.New("password=hunter2")))
	if err.Code != fault.Internal || err.Message() != "internal error" {
		t.Errorf("Of(foreign) = %q %q, want internal and a message without the cause", err.Code, err.Message())
	}
}

func TestCauseStaysInTheLog(t *testing.T) {
	cause := errors.New("disk full")
	err := fault.New(fault.Conflict, "node %q exists", "a").Because(cause)
	wrapped := fmt.Errorf("create: %w", err)
	if fault.CodeOf(wrapped) != fault.Conflict || !errors.Is(wrapped, cause) {
		t.Errorf("CodeOf(%v) = %q, want conflict with its cause in the chain", wrapped, fault.CodeOf(wrapped))
	}
	if m := fault.Of(wrapped).Message(); strings.Contains(m, "disk") {
		t.Errorf("Message() = %q, want no cause", m)
	}
}

func TestFieldCopies(t *testing.T) {
	base := fault.New(fault.Invalid, "check the form")
	one := base.Field("name", "is taken by %q", "b")
	if len(base.Fields) != 0 || one.Fields["name"] != `is taken by "b"` {
		t.Errorf("Field changed its receiver (%v) or lost the text (%v)", base.Fields, one.Fields)
	}
}
