! Two kernels of target regions: a map and a reduction.
program sums
  implicit none
  integer, parameter :: n = 1000
  real(8) :: a(n), b(n), s
  integer :: i
  do i = 1, n
    a(i) = i
  end do
  !$omp target teams distribute parallel do map(to: a) map(from: b)
  do i = 1, n
    b(i) = 2 * a(i) + 1
  end do
  s = 0
  !$omp target teams distribute parallel do map(to: b) map(tofrom: s) reduction(+: s)
  do i = 1, n
    s = s + b(i)
  end do
  print '(a,f10.1,f12.1)', 'results ', b(n), s
end program
