package governor

import (
	"math"
	"time"
)

// account is the credit of one client: paid out at a rate, spent by launches.
//
// Credit is counted in nanoseconds times millionths, so that rate × time is exact.
// What keeps it honest, at any time and for any calls:
//
//	credit ≤ burst + rate × time − (declared in flight + charged when done)
type account struct {
	rate     int64 // millionths of GPU time
	burst    int64 // ns
	debt     int64 // ns
	limit    int64 // ns in flight at most; 0 = no bound
	unknown  int64 // ns
	last     int64 // ns: the latest time seen
	credit   int64 // ns × ppm
	want     int64 // ns: the launch over burst that is being saved for; 0 = none
	due      int64 // ns: when want was to be met
	inflight int64 // ns
	charged  int64 // ns
	forgiven int64 // ns
	held     bool  // a launch was refused for want of credit
}

// lapse is how long credit over the burst is kept for a launch that does not come
// back for it.
const lapse = int64(100 * time.Millisecond)

func newAccount(l Limit) account {
	return account{
		rate:    int64(l.Share) * (ppm / milli),
		burst:   int64(l.Burst),
		debt:    int64(l.Debt),
		limit:   int64(l.Inflight),
		unknown: int64(l.Unknown),
		credit:  int64(l.Burst) * ppm,
	}
}

// cost is what a launch is charged with.
func (a *account) cost(declared time.Duration) int64 {
	if declared <= 0 {
		return a.unknown
	}
	return int64(min(declared, MaxCost))
}

// advance pays out credit up to now and returns the time that counts as now.
func (a *account) advance(at time.Duration) int64 {
	now := instant(at)
	if now <= a.last {
		return a.last
	}
	dt := now - a.last
	a.last = now
	if a.want > 0 && now-a.due > lapse {
		a.want = 0
		a.credit = min(a.credit, a.burst*ppm)
	}
	room := max(a.burst, a.want)*ppm - a.credit
	if room <= 0 || a.rate == 0 {
		return now
	}
	if dt > room/a.rate { // also keeps dt × rate from overflowing
		a.credit += room
	} else {
		a.credit += dt * a.rate
	}
	return now
}

// check says how long a launch has to wait; the account is up to now. If it has to,
// keep must follow.
func (a *account) check(cost int64) time.Duration {
	if a.limit > 0 && a.inflight > 0 && a.inflight+cost > a.limit {
		return Forever
	}
	short := cost*ppm - a.credit
	if short <= 0 {
		return 0
	}
	a.held = true
	if a.rate == 0 {
		return Forever
	}
	wait := (short-1)/a.rate + 1
	if cost > a.burst && cost > a.want {
		a.want = cost
	}
	return time.Duration(wait)
}

// keep notes when a launch that was refused will be back, for whatever reason it
// was, so that what is saved for it is still there.
func (a *account) keep(cost int64, wait time.Duration) {
	switch {
	case a.want == 0 || cost < a.want:
	case wait == Forever:
		a.due = 1 << 62
	default:
		a.due = a.last + int64(wait)
	}
}

// take charges a launch that check has let pass.
func (a *account) take(cost int64) {
	a.credit -= cost * ppm
	a.inflight += cost
	if cost >= a.want {
		a.want = 0
	}
}

// ask is check and take.
func (a *account) ask(at, declared time.Duration) time.Duration {
	a.advance(at)
	cost := a.cost(declared)
	wait := a.check(cost)
	if wait == 0 {
		a.take(cost)
	} else {
		a.keep(cost, wait)
	}
	return wait
}

// done puts the charge of a launch right. A Done without an Ask is charged in
// full: no more is given back than is in flight. It returns what was forgiven.
func (a *account) done(at, declared, used time.Duration) (forgiven int64) {
	a.advance(at)
	reserved := min(a.cost(declared), a.inflight)
	a.inflight -= reserved
	forgiven = a.charge(spent(used)-reserved, reserved)
	a.charged = min(sum(a.charged, spent(used)-forgiven), 1<<61)
	return forgiven
}

// instant is a time that counts: not negative, and so far from the end of time that
// nothing added to it here overflows.
func instant(at time.Duration) int64 { return int64(min(max(at, 0), 1<<62)) }

// spent is the use that is taken at its word, in ns.
func spent(used time.Duration) int64 { return int64(min(max(used, 0), MaxCost)) }

// charge takes more, or gives back if x is negative, and returns what was forgiven,
// rounded up. What is given back may lie above the burst up to the launch that it
// comes from: it was paid for once. x may be more than the credit can hold.
func (a *account) charge(x, reserved int64) (forgiven int64) {
	if x < 0 {
		top := max(a.burst, a.want, reserved) * ppm
		if back := max(top-a.credit, 0); -x > back/ppm {
			a.credit += back
		} else {
			a.credit -= x * ppm
		}
		return 0
	}
	floor := -a.debt * ppm
	if room := a.credit - floor; x > room/ppm {
		forgiven = x - room/ppm
		a.credit = floor
		a.forgiven = sum(a.forgiven, forgiven)
	} else {
		a.credit -= x * ppm
	}
	return forgiven
}

// sum is a+b, neither negative; the sums of centuries stay at the largest number.
func sum(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

func (a *account) state() State {
	credit := a.credit / ppm
	if a.credit%ppm < 0 {
		credit-- // round down, so that a debt shows
	}
	return State{
		Rate:     a.rate,
		Credit:   time.Duration(credit),
		Inflight: time.Duration(a.inflight),
		Charged:  time.Duration(a.charged),
		Forgiven: time.Duration(a.forgiven),
	}
}
