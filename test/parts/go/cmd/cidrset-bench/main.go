// The peer of bench/cidrset.ts: Kubernetes' own CidrSet, as kube-controller-manager
// uses it, through the same operations in the same order. Prints one duration in
// nanoseconds for each round, one line each; the bench takes the median.
//
//	cidrset-bench MEASUREMENT ROUNDS
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam/cidrset"
)

const (
	blocks = 65536
	// 99.9 % full: this many are free when the churn starts.
	freeInChurn = 65
	churns      = 65536
	// Sets that stand ready before the clock starts, so that it runs over several.
	setsInHalf = 8
)

// random is the same xorshift on both sides: the same nodes leave and come back in the same order.
type random uint32

func (r *random) below(n uint32) uint32 {
	x := *r
	x ^= x << 13
	x ^= x >> 17
	x ^= x << 5
	*r = x
	return uint32(x) % n
}

func newSet() *cidrset.CidrSet {
	_, cluster, err := net.ParseCIDR("10.0.0.0/8")
	if err != nil {
		panic(err)
	}
	set, err := cidrset.NewCIDRSet(cluster, 24)
	if err != nil {
		panic(err)
	}
	return set
}

var mask = net.CIDRMask(24, 32)

// block is the number-th /24: an event names a block, it does not bring the set's own pointer.
func block(number uint16) *net.IPNet {
	return &net.IPNet{IP: net.IP{10, byte(number >> 8), byte(number), 0}, Mask: mask}
}

func allocate(set *cidrset.CidrSet) uint16 {
	block, err := set.AllocateNext()
	if err != nil {
		panic(err)
	}
	return uint16(block.IP[1])<<8 | uint16(block.IP[2])
}

func release(set *cidrset.CidrSet, number uint16) {
	if err := set.Release(block(number)); err != nil {
		panic(err)
	}
}

// blockOf is what every node holds. Every allocation ends up in it, so that none can be left out.
var blockOf [blocks]uint16

func fill() time.Duration {
	set := newSet()
	start := time.Now()
	for node := range blockOf {
		blockOf[node] = allocate(set)
	}
	return time.Since(start)
}

func churn() time.Duration {
	set := newSet()
	for node := range blockOf {
		blockOf[node] = allocate(set)
	}
	r := random(2463534242)
	gone := map[uint32]bool{}
	for len(gone) < freeInChurn {
		node := r.below(blocks)
		if !gone[node] {
			release(set, blockOf[node])
			gone[node] = true
		}
	}
	which := make([]uint32, 0, churns)
	for len(which) < churns {
		node := r.below(blocks)
		if !gone[node] {
			which = append(which, node)
		}
	}
	start := time.Now()
	for _, node := range which {
		release(set, blockOf[node])
		blockOf[node] = allocate(set)
	}
	return time.Since(start)
}

func lowerHalfTaken() *cidrset.CidrSet {
	set := newSet()
	for number := uint16(0); number < blocks/2; number++ {
		if err := set.Occupy(block(number)); err != nil {
			panic(err)
		}
	}
	return set
}

func half() time.Duration {
	var sets [setsInHalf]*cidrset.CidrSet
	for i := range sets {
		sets[i] = lowerHalfTaken()
	}
	start := time.Now()
	for i, set := range sets {
		blockOf[i] = allocate(set)
		release(set, blockOf[i])
	}
	return time.Since(start)
}

// halfOn is half once the cursor stands behind the lower half, where no search is needed.
func halfOn() time.Duration {
	set := lowerHalfTaken()
	release(set, allocate(set))
	start := time.Now()
	for node := blocks / 2; node < blocks; node++ {
		blockOf[node] = allocate(set)
		release(set, blockOf[node])
	}
	return time.Since(start)
}

func main() {
	measurements := map[string]func() time.Duration{"fill": fill, "churn": churn, "half": half, "half-on": halfOn}
	if len(os.Args) != 3 || measurements[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: cidrset-bench fill|churn|half|half-on ROUNDS")
		os.Exit(2)
	}
	rounds, err := strconv.Atoi(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	measurements[os.Args[1]]()
	for i := 0; i < rounds; i++ {
		fmt.Println(measurements[os.Args[1]]().Nanoseconds())
	}
}
