package memstore_test

import (
	"sync/atomic"
	"testing"
	"time"

	"eruptcloud/app/registry/memstore"
	"eruptcloud/app/registry/storetest"
)

func TestContract(t *testing.T) {
	storetest.Run(t, func(*testing.T) storetest.Opened {
		var ahead atomic.Int64
		s := memstore.New(func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) })
		return storetest.Opened{Store: s, Other: s, Trim: func() { ahead.Add(int64(time.Hour)) }}
	})
}
