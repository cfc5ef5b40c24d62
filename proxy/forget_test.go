package proxy

import "testing"

func TestTracesGoWithTheirNode(t *testing.T) { // D11: a deleted node leaves nothing behind
	node := newFakeNode(t, nil)
	rig := newRig(t)
	rig.dir.set("shop", node.URL)
	rig.dir.set("cart", node.URL)
	rig.get("/erupt-api/build/shop.X", "shop.X")
	rig.get("/erupt-api/build/cart.X", "cart.X")
	rig.proxy.Forget("shop")
	if shop, cart := len(rig.proxy.Traces("shop", 10)), len(rig.proxy.Traces("cart", 10)); shop != 0 || cart != 1 {
		t.Errorf("%d traces of the deleted node and %d of the other, want none and one", shop, cart)
	}
}
