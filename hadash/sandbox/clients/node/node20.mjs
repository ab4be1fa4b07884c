// What @platformatic/kafka takes from Node 22, for Node 20: imported before it.
//
// (Its versions for Node 20, before 2.7, know METADATA 9 and later only, which a Gateway does not offer: see kinds.py.)

Promise.withResolvers ??= function () {
  let resolve, reject
  const promise = new Promise((...both) => { [resolve, reject] = both })
  return { promise, resolve, reject }
}
