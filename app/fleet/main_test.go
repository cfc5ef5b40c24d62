package fleet_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// the testbed waits for its servers, which live as long as we do
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("eruptcloud/app/testbed.start.func1"))
}
